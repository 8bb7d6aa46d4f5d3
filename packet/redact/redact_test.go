package redact

import "testing"

func TestTextRedacts(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want string }{
		{"key sk-ant-api03-EXAMPLEabcdEFGH1234 end", "key [REDACTED] end"},
		{"sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x", "[REDACTED]"},
		{"AKIAEXAMPLE123456789", "[REDACTED]"},
		{"ghp_EXAMPLE1234567890abcdefABCDEF123456", "[REDACTED]"},
		{"postgres://app:hunter2@db.example/x", "postgres://app:[REDACTED]@db.example/x"},
		{"https://EXAMPLE:pa#s5word@host/", "https://EXAMPLE:[REDACTED]@host/"},
		{"export DB_PASSWORD=hunter2", "export DB_PASSWORD=[REDACTED]"},
		{`{"password":"hunter2","user":"bob"}`, `{"password":"[REDACTED]","user":"bob"}`},
		{`{\"password\":\"hunter2\",\"user\":\"bob\"}`, `{\"password\":\"[REDACTED]\",\"user\":\"bob\"}`},
		{"password: hunter2\nuser: bob", "password: [REDACTED]\nuser: bob"},
		{"Authorization: bearer abcDEF123456789", "Authorization: bearer [REDACTED]"},
		{"authorization: Basic dXNlcjpwYXNz", "authorization: Basic [REDACTED]"},
		{"curl -u bob:hunter2 https://x", "curl -u bob:[REDACTED] https://x"},
		{"Cookie: sid=abc123def456; theme=dark", "Cookie: sid=[REDACTED]"},
		{"eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln", "[REDACTED]"},
		{"sk\\u002dant\\u002dapi03\\u002dEXAMPLEabcd1234", "[REDACTED]"},
		{"-----BEGIN PRIVATE KEY-----\\nMIIEvEXAMPLEEXAMPLE12345678\\nAbCd==\\n-----END PRIVATE KEY-----\\n", "[REDACTED]\\n"},
		{"-----BEGIN PRIVATE KEY-----\nMIIEvEXAMPLEEXAMPLE12345678\nAbC", "[REDACTED]"},
		{"machine h login bob password swordfish", "machine h login bob password [REDACTED]"},
		{"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AWS_SECRET_ACCESS_KEY=[REDACTED]"},
		{"123456789:AAEXAMPLEabcdefghijklmnopqrstuv1234", "[REDACTED]"},
		{"mysql -uroot -pS3cret9 db", "mysql -uroot -p[REDACTED] db"},
		{"const token: string = \"a8Fk2Lq9Zx7Bn3\"", "const token: string = \"[REDACTED]\""},
		{"the password is hunter2.", "the password is [REDACTED]."},
		{"<password>hunter2</password>", "<password>[REDACTED]</password>"},
		{"--password hunter2 --user bob", "--password [REDACTED] --user bob"},
		{"| password | hunter2xyz9Q |", "| password | [REDACTED] |"},
	} {
		got, n := r.Text(tt.in)
		if got != tt.want || n != 1 {
			t.Errorf("Text(%q) = %q, %d; want %q", tt.in, got, n, tt.want)
		}
	}
	for _, s := range []string{
		"password: string", "token?: string;", "getPasswordFromConfig()", "token count: 512", "password=$TOKEN", "password: <your-token>", "token = xxxx", "PASSWORD=***",
		"password = getPassword()", "const token = await fetchToken(x)", "token = tokens[i]", "connect(password=password, token=tok)",
		"commit 997f297a8f3e1b2c4d5e6f708192a3b4c5d6e7f8", "toolu_01A2b3C4d5E6f7G8h9J0kLmN", "msg_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607182",
		"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
		"/home/user/projects/reseat/internal/config/testdata/very/long/path/to/file_test.go", "PWD=/root/x", "bearer authentication", "basic understanding", "password: must be at least 8 characters",
		"sk-estimator-html-doc-link-wrapper", "task-2024-11-29-something-long-name-here",
		"wait for the token to expire", "secret: my-db-secret", "kubectl get secret my-secret -o yaml", "https://host:8080/?q=a@b", "git@github.com:a/b.git",
		"docker run -u 1000:1000 x", "-----BEGIN PRIVATE KEY----- is the header", "pkg@v1.2.3:12:3", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/",
	} {
		if got, n := r.Text(s); got != s || n != 0 {
			t.Errorf("Text(%q) = %q, %v", s, got, r.Find(s))
		}
	}
}
