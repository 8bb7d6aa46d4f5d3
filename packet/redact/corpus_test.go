package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// corpusSeed makes the corpus the same in each run. Another seed must do as
// well: see TestCorpusOfOtherSeeds.
const corpusSeed = 20261129

// kinds of secret, each as a template. {alphabet:n} is n random bytes, {pem:n}
// and {b64u:n} are encoded ones; what stands between « and » is the secret, all
// of it where there are none.
var secretKinds = []struct{ name, template string }{
	{"anthropic", "sk-ant-api03-{url:93}AA"},
	{"anthropic admin", "sk-ant-admin01-{url:60}"},
	{"anthropic oauth", "sk-ant-oat01-{url:80}"},
	{"anthropic short", "sk-ant-EXAMPLE{b62:12}"},
	{"openai legacy", "sk-{b62:48}"},
	{"openai project", "sk-proj-{url:60}"},
	{"openai service account", "sk-svcacct-{url:60}"},
	{"openrouter", "sk-or-v1-{hex:64}"},
	{"v0 class a", "sk-{url:16}x9"},
	{"groq", "gsk_{b62:52}"},
	{"xai", "xai-{b62:80}"},
	{"perplexity", "pplx-{b62:48}"},
	{"hugging face", "hf_{b62:34}"},
	{"replicate", "r8_{b62:37}"},
	{"nvidia", "nvapi-{url:64}"},
	{"tavily", "tvly-dev-{b62:32}"},
	{"langsmith", "lsv2_pt_{hex:32}_{hex:10}"},
	{"pinecone", "pcsk_{b62:5}_{b62:60}"},
	{"elevenlabs", "sk_{hex:48}"},
	{"langfuse", "sk-lf-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"},
	{"cerebras", "csk-{b36:48}"},
	{"firecrawl", "fc-{hex:32}"},
	{"e2b", "e2b_{hex:40}"},
	{"aws key id", "AKIA{b32:16}"},
	{"aws temporary key id", "ASIA{b32:16}"},
	{"aws secret, environment", "AWS_SECRET_ACCESS_KEY=«{b64:40}»"},
	{"aws secret, credentials file", "aws_secret_access_key = «{b64:40}»"},
	{"aws secret, JSON", `{"SecretAccessKey": "«{b64:40}»"}`},
	{"aws session token", "aws_session_token=«FwoG{b64:200}»"},
	{"aws signed address", "https://b.s3.amazonaws.com/k?X-Amz-Signature=«{hex:64}»"},
	{"v0 class e", "{b64:64}"},
	{"github classic", "ghp_{b62:36}"},
	{"github oauth", "gho_{b62:36}"},
	{"github app user", "ghu_{b62:36}"},
	{"github app server", "ghs_{b62:36}"},
	{"github refresh", "ghr_{b62:76}"},
	{"github fine-grained", "github_pat_{b62:22}_{b62:59}"},
	{"gitlab personal", "glpat-{url:20}"},
	{"gitlab routable", "glpat-{url:27}.01.{b36:9}"},
	{"gitlab pipeline trigger", "glptt-{hex:40}"},
	{"gitlab runner", "GR1348941{url:20}"},
	{"bitbucket", "ATBB{b62:32}"},
	{"npm", "npm_{b62:36}"},
	{"npmrc", "//registry.example/:_authToken=«{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»"},
	{"npmrc, basic", "//registry.example/:_auth=«{b64:32}»"},
	{"pypi", "pypi-AgEIcHlwaS5vcmc{url:80}"},
	{"rubygems", "rubygems_{hex:48}"},
	{"crates", "cio{b62:32}"},
	{"nuget", "oy2{b36:43}"},
	{"clojars", "CLOJARS_{hex:60}"},
	{"docker", "dckr_pat_{url:27}"},
	{"docker config", `{"auths":{"r.example":{"auth":"«{b64:48}»"}}}`},
	{"docker login", "docker login -u bob -p «{b62:14}» r.example"},
	{"slack bot", "xoxb-{dec:12}-{dec:12}-{b62:24}"},
	{"slack user", "xoxp-{dec:12}-{dec:12}-{dec:12}-{hex:32}"},
	{"slack config", "xoxe.xoxp-1-{b62:140}"},
	{"slack app", "xapp-1-A{b32:10}-{dec:12}-{hex:64}"},
	{"slack cookie", "xoxd-{b64:80}"},
	{"slack webhook", "https://hooks.slack.com/services/«T{b32:9}/B{b32:9}/{b62:24}»"},
	{"discord bot", "M{url:23}.{url:6}.{url:38}"},
	{"discord webhook", "https://discord.com/api/webhooks/«{dec:18}/{url:68}»"},
	{"teams webhook", "https://acme.webhook.office.com/webhookb2/«{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}@{hex:8}/IncomingWebhook/{hex:32}»"},
	{"telegram", "{dec:9}:AA{url:33}"},
	{"telegram in an address", "https://api.telegram.org/bot«{dec:10}:AA{url:33}»/sendMessage"},
	{"google api key", "AIza{url:35}"},
	{"google oauth token", "ya29.{url:100}"},
	{"google oauth secret", "GOCSPX-{url:28}"},
	{"google refresh token", "1//0{url:60}"},
	{"google service account", `{"type": "service_account", "private_key": "«-----BEGIN PRIVATE KEY-----\n{pemj:9}-----END PRIVATE KEY-----\n»"}`},
	{"azure storage", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«{b64:86}==»;EndpointSuffix=core.windows.net"},
	{"azure client secret", "{b62:3}8Q~{url:34}"},
	{"azure sas", "https://x.blob.core.windows.net/c?sv=2024-11-04&se=2026-01-01&sig=«{b64e:40}%3D»"},
	{"azure service bus", "Endpoint=sb://x.example/;SharedAccessKeyName=k;SharedAccessKey=«{b64:43}=»"},
	{"azure devops", "AZURE_DEVOPS_EXT_PAT=«{b36:52}»"},
	{"stripe secret", "sk_live_{b62:24}"},
	{"stripe restricted", "rk_live_{b62:24}"},
	{"stripe test", "sk_test_{b62:24}"},
	{"stripe webhook", "whsec_{b62:32}"},
	{"square", "sq0atp-{url:22}"},
	{"square production", "EAAA{url:60}"},
	{"shopify", "shpat_{hex:32}"},
	{"twilio key", "SK{hex:32}"},
	{"twilio token", "TWILIO_AUTH_TOKEN=«{hex:32}»"},
	{"sendgrid", "SG.{url:22}.{url:43}"},
	{"mailgun", "key-{hex:32}"},
	{"mailgun new", "{hex:32}-{hex:8}-{hex:8}"},
	{"mailchimp", "{hex:32}-us12"},
	{"brevo", "xkeysib-{hex:64}-{b62:16}"},
	{"resend", "re_{b62:8}_{b62:24}"},
	{"postmark", "X-Postmark-Server-Token: «{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»"},
	{"heroku", "HEROKU_API_KEY=«{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}»"},
	{"heroku new", "HRKU-{url:60}"},
	{"digitalocean", "dop_v1_{hex:64}"},
	{"supabase", "sbp_{hex:40}"},
	{"supabase secret", "sb_secret_{url:31}"},
	{"planetscale", "pscale_tkn_{url:43}"},
	{"planetscale password", "pscale_pw_{url:43}"},
	{"cloudflare", "CLOUDFLARE_API_TOKEN=«{url:40}»"},
	{"cloudflare header", "X-Auth-Key: «{hex:37}»"},
	{"cloudflare origin", "v1.0-{hex:24}-{hex:146}"},
	{"fly", "FlyV1 fm2_«{b64:120}»"},
	{"netlify", "nfp_{b62:36}"},
	{"vercel", "VERCEL_TOKEN=«{b62:24}»"},
	{"databricks", "dapi{hex:32}"},
	{"vault", "hvs.{url:90}"},
	{"vault legacy", "s.{b62:24}"},
	{"terraform", "{b62:14}.atlasv1.{url:67}"},
	{"doppler", "dp.pt.{b62:43}"},
	{"1password", "A3-{b32:6}-{b32:6}-{b32:5}-{b32:5}-{b32:5}-{b32:5}"},
	{"pulumi", "pul-{hex:40}"},
	{"age", "AGE-SECRET-KEY-1{b32:58}"},
	{"tailscale", "tskey-auth-{b62:12}CNTRL-{b62:32}"},
	{"grafana cloud", "glc_{b64:60}"},
	{"grafana service account", "glsa_{b62:32}_{hex:8}"},
	{"new relic", "NRAK-{B36:27}"},
	{"datadog", "DD_API_KEY=«{hex:32}»"},
	{"datadog, YAML", "api_key: «{hex:32}»"},
	{"sentry", "sntrys_{b64:80}"},
	{"sentry address", "https://«{hex:31}g»@o123.ingest.sentry.io/456"},
	{"dynatrace", "dt0c01.{B36:24}.{B36:64}"},
	{"posthog", "phx_{b62:43}"},
	{"atlassian", "ATATT3xFfGF0{url:160}={hex:8}"},
	{"linear", "lin_api_{b62:40}"},
	{"notion", "ntn_{b62:46}"},
	{"notion old", "secret_{b62:43}"},
	{"postman", "PMAK-{hex:24}-{hex:34}"},
	{"airtable", "pat{b62:14}.{hex:64}"},
	{"figma", "figd_{url:40}"},
	{"typeform", "tfp_{url:44}"},
	{"dropbox", "sl.{url:130}"},
	{"hubspot", "pat-na1-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"},
	{"artifactory", "AKCp{b62:69}"},
	{"sonar", "squ_{hex:40}"},
	{"circleci", "CCIPAT_{b62:22}_{hex:40}"},
	{"trello", "ATTA{hex:64}"},
	{"yandex", "AQVN{url:36}"},
	{"alibaba", "LTAI{b62:20}"},
	{"jwt", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{url:80}.{url:43}"},
	{"jwt of short parts", "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.{url:8}"},
	{"jwt of another header", "eyJ{url:40}.{url:60}.{url:43}"},
	{"bearer", "Authorization: Bearer «{url:40}»"},
	{"bearer, small letters", "authorization: bearer «{b62:20}»"},
	{"bearer, capitals", "AUTHORIZATION: BEARER «{b62:24}»"},
	{"bearer in prose", "call it with Bearer «{b62:30}» as the header"},
	{"basic", "Authorization: Basic «{basic:12}»"},
	{"basic in prose", "it sends basic «{basic:12}» and fails"},
	{"authorization, token", `-H "Authorization: token «{hex:40}»"`},
	{"authorization, bare", `{"Authorization": "«{b62:32}»"}`},
	{"header api key", "x-api-key: «{b62:32}»"},
	{"cookie", "Cookie: sid=«{b62:26}; csrf={b62:16}»"},
	{"set-cookie", "Set-Cookie: session=«{b64:40}»; Path=/; HttpOnly"},
	{"password, environment", "DB_PASSWORD=«{pw:16}»"},
	{"password, small letters", "password=«{b62:10}»"},
	{"password, quoted", "export PASSWORD='«{pw:16}»'"},
	{"password, JSON", `{"user": "bob", "password": "«{pw:14}»"}`},
	{"password, YAML", "db:\n  user: bob\n  password: «{b62:12}»"},
	{"password, YAML block", "password: |\n  «{b62:20}»"},
	{"password, YAML words", "passphrase: «correct-horse-battery-staple»"},
	{"password, properties", "spring.datasource.password=«{b62:14}»"},
	{"password, code", `db.connect(user="bob", password="«{b62:12}»")`},
	{"password, typed", `password: str = "«{b62:12}»"`},
	{"password, passwd", "passwd: «{b62:12}9»"},
	{"password, pwd", "Server=db;Uid=sa;Pwd=«{b62:12}»;Database=x"},
	{"password, pass", "SMTP_PASS=«{b62:16}»"},
	{"password, option", "psql --password=«{b62:12}» -h db"},
	{"password, option apart", "app --db-password «{b62:12}» --verbose"},
	{"password, mysql", "mysqldump -uroot -p«{b62:12}» db"},
	{"password, curl", "curl -u bob:«{b62:16}» https://example.org/"},
	{"password, sshpass", "sshpass -p '«{b62:16}»' ssh host"},
	{"password, prose", "The password is «{b62:9}7»."},
	{"password, markdown", "**Password:** `«{b62:12}8»`"},
	{"password, XML", "<password>«{b62:14}»</password>"},
	{"password, table", "| password | «{b62:13}5» |"},
	{"password, address", "postgres://app:«{b62:16}»@db.example:5432/app"},
	{"password, address with signs", "mysql://root:«p@ss/w#{b62:8}?»@db.example/app"},
	{"password, web address", "https://bob:«{b62:16}»@example.org/x"},
	{"token in an address", "https://«{b62:12}g7Q{b62:20}»@example.org/x.git"},
	{"password, netrc", "machine example.org login bob password «{b62:14}»"},
	{"password, pgpass", "db.example:5432:app:bob:«{b62:14}»"},
	{"password, XML pair", `<add key="DbPassword" value="«{b62:14}»" />`},
	{"password, JSON pair", `{"name": "DB_PASSWORD", "value": "«{b62:14}»"}`},
	{"password, YAML pair", "env:\n- name: DB_PASSWORD\n  value: «{b62:14}»"},
	{"password, pass", `auth = {"user": "bob", "pass": "«{b62:12}7x»"}`},
	{"password, openssl", "openssl rsa -in k.pem -passin pass:«{b62:14}»"},
	{"password, keytool", "keytool -list -storepass «{b62:14}»"},
	{"password, curl, long option", "curl --user bob:«{b62:16}» https://example.org/"},
	{"password, Windows", "$env:DB_PASSWORD = '«{b62:14}»'"},
	{"password, connection string", "UID=sa;PWD=«{b62:14}»;"},
	{"password, system property", "java -DdbPassword=«{b62:14}» -jar x.jar"},
	{"password, list", "helm install --set auth.password=«{b62:14}»,auth.user=bob x"},
	{"secret, quoted environment", `export WEBHOOK_SECRET="«{b62:24}»"`},
	{"secret, django", `SECRET_KEY = 'django-insecure-«#{pw:40}»'`},
	{"seed phrase", "seed phrase: «ribbon velvet cactus orbit lunar pepper saddle mango tulip wagon zebra fossil»"},
	{"password, mnemonic", `mnemonic: "«{b36:6} {b36:6} {b36:6} {b36:6}»"`},
	{"password hash", "$2b$12${b62:53}"},
	{"token, environment", "MY_SERVICE_TOKEN=«{b62:20}»"},
	{"token, query", "https://example.org/x?access_token=«{b62:32}»&page=2"},
	{"token, JSON", `{"refreshToken":"«{b62:40}»"}`},
	{"token, option", "deploy --token «{b62:24}» --prod"},
	{"token, Dockerfile", "ENV API_TOKEN «{b62:28}»"},
	{"secret, TOML", `client_secret = "«{b62:32}»"`},
	{"secret, code", `const apiKey = "«{b62:32}»";`},
	{"secret, hash rocket", `:secret_key_base => "«{hex:128}»"`},
	{"secret, prose", "the api key is «{hex:20}x{hex:11}» for now"},
	{"key of no known name", "ALGOLIA_KEY=«{b62:32}»"},
	{"ethereum key", "private_key=«0x{hex:64}»"},
	{"wireguard", "PrivateKey = «{b64:43}=»"},
	{"kubeconfig", "client-key-data: «{b64:200}»"},
	{"bitcoin", "xprv{b62:107}"},
	{"nostr", "nsec1{b36:58}"},
	{"pem", "«-----BEGIN PRIVATE KEY-----\n{pem:12}-----END PRIVATE KEY-----»"},
	{"pem, rsa", "«-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{HEX:32}\n\n{pem:12}-----END RSA PRIVATE KEY-----»"},
	{"pem, openssh", "«-----BEGIN OPENSSH PRIVATE KEY-----\n{pem:7}-----END OPENSSH PRIVATE KEY-----»"},
	{"pem without an end", "«-----BEGIN EC PRIVATE KEY-----\n{pem:5}{b64:21}»"},
	{"pem without a beginning", "«{pem:5}{b64:20}\n-----END PRIVATE KEY-----»"},
	{"pem, escaped", `key = "«-----BEGIN PRIVATE KEY-----\n{pemj:6}-----END PRIVATE KEY-----»\n"`},
	{"pem, escaped without an end", `key = "«-----BEGIN PRIVATE KEY-----\n{pemj:4}{b64:30}»"`},
	{"pgp", "«-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n{pem:9}={b64:4}\n-----END PGP PRIVATE KEY BLOCK-----»"},
}

var alphabets = map[string]string{
	"b62": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"b64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"url": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
	"b36": "abcdefghijklmnopqrstuvwxyz0123456789",
	"B36": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	"b32": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
	"hex": "0123456789abcdef",
	"HEX": "0123456789ABCDEF",
	"dec": "123456789",
	"pw":  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!@#%^*_+-.:?~/",
}

func randomText(rng *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(b)
}

// expand fills the placeholders of a template.
func expand(rng *rand.Rand, template string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		kind, size, isPlace := strings.Cut(name, ":")
		n := 0
		if _, err := fmt.Sscanf(size, "%d", &n); err != nil || !isPlace || strings.ContainsAny(name, "\"' \\") {
			b.WriteByte('{')
			template = rest
			continue
		}
		template = after
		switch kind {
		case "pem", "pemj":
			end := "\n"
			if kind == "pemj" {
				end = `\n`
			}
			for range n {
				b.WriteString(randomText(rng, alphabets["b64"], 64) + end)
			}
		case "basic":
			b.WriteString(base64.StdEncoding.EncodeToString([]byte("bob:" + randomText(rng, alphabets["b62"], n))))
		case "b64e":
			b.WriteString(strings.NewReplacer("+", "%2B", "/", "%2F").Replace(randomText(rng, alphabets["b64"], n)))
		default:
			b.WriteString(randomText(rng, alphabets[kind], n))
		}
	}
}

// plant splits an expanded template into the text and the secret in it.
func plant(text string) (whole, hidden string) {
	before, rest, found := strings.Cut(text, "«")
	if !found {
		return text, text
	}
	hidden, after, _ := strings.Cut(rest, "»")
	return before + hidden + after, hidden
}

func marshal(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const prose = "We looked at the failing test again and moved the check before the write, so that nothing half-written is seen. "

// carriers are the places a secret is met in.
var carriers = []struct {
	name   string
	shaped bool // only for secrets that are known by themselves
	wrap   func(rng *rand.Rand, s string) string
}{
	{"alone", false, func(_ *rand.Rand, s string) string { return s }},
	{"prose", false, func(rng *rand.Rand, s string) string {
		return prose[:rng.IntN(len(prose))] + "\n" + s + "\nand then " + prose
	}},
	{"end of a long text", false, func(rng *rand.Rand, s string) string {
		return strings.Repeat(prose, 40)[:4000+rng.IntN(300)] + "\n" + s
	}},
	{"tool argument", false, func(_ *rand.Rand, s string) string {
		return `{"command":` + marshal("cat <<'EOF'\n"+s+"\nEOF") + `,"timeout":1000}`
	}},
	{"tool argument in a transcript line", false, func(_ *rand.Rand, s string) string {
		return `{"type":"function_call","arguments":` + marshal(`{"cmd":`+marshal("printf x\n"+s+"\ndone")+`}`) + `}`
	}},
	{"escaped dashes and slashes", false, func(_ *rand.Rand, s string) string {
		return strings.NewReplacer("-", `\u002d`, "/", `\/`, ":", `\u003A`, "=", `\u003d`).Replace(marshal(s))
	}},
	{"every letter escaped", false, func(_ *rand.Rand, s string) string {
		var b strings.Builder
		for i, r := range s {
			if i%3 == 0 {
				fmt.Fprintf(&b, `\u%04x`, r)
				continue
			}
			q := marshal(string(r))
			b.WriteString(q[1 : len(q)-1])
		}
		return b.String()
	}},
	{"diff", false, func(_ *rand.Rand, s string) string {
		return "@@ -1 +1 @@\n+" + strings.ReplaceAll(s, "\n", "\n+") + "\n"
	}},
	{"numbered lines", false, func(_ *rand.Rand, s string) string {
		var b strings.Builder
		for i, l := range strings.Split(s, "\n") {
			fmt.Fprintf(&b, "%6d→%s\n", i+1, l)
		}
		return b.String()
	}},
	{"code fence", false, func(_ *rand.Rand, s string) string { return "```sh\n" + s + "\n```" }},
	{"quoted", true, func(_ *rand.Rand, s string) string { return "x = '" + s + "'; y" }},
	{"brackets", true, func(_ *rand.Rand, s string) string { return "f(" + s + ") [" + s + "]" }},
	{"path segment", true, func(_ *rand.Rand, s string) string { return "/home/user/work/" + s + "/notes.md" }},
	{"path query", true, func(_ *rand.Rand, s string) string { return "/v1/items?key=" + s + "&page=2" }},
	{"percent encoding", true, func(_ *rand.Rand, s string) string {
		return "https://example.org/?q=" + strings.NewReplacer("-", "%2D", "_", "%5F", ".", "%2e").Replace(s)
	}},
	{"sentence", true, func(_ *rand.Rand, s string) string { return "I used " + s + ", and it worked." }},
	{"assignment", true, func(_ *rand.Rand, s string) string { return "X=" + s }},
	{"after a colour", true, func(_ *rand.Rand, s string) string { return "\x1b[31m" + s + "\x1b[0m" }},
}

// survivor returns a piece of 8 bytes of the secret that text still holds, in
// any level of escaping.
func survivor(text, hidden string) string {
	for v, depth := (&view{text: text}), 0; depth <= levels+1; depth++ {
		for i := 0; i+8 <= len(hidden); i++ {
			piece := hidden[i : i+8]
			if strings.Contains(v.text, piece) && !strings.HasPrefix(piece, "-----") && !strings.Contains("-----BEGIN PRIVATE KEY----- -----END PRIVATE KEY-----", piece) {
				return piece
			}
		}
		if !strings.ContainsAny(v.text, `\%&`) {
			break
		}
		v = v.unescape()
	}
	return ""
}

// shaped reports whether a kind is known by its own form, wherever it stands.
func shaped(template string) bool {
	return !strings.Contains(template, "«") && !strings.HasPrefix(template, "{b64:")
}

func corpus(t *testing.T, r *Redactor, seed uint64, rounds int) (planted, missed int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, k := range secretKinds {
		for _, c := range carriers {
			if c.shaped && !shaped(k.template) {
				continue
			}
			for range rounds {
				whole, hidden := plant(expand(rng, k.template))
				text := c.wrap(rng, whole)
				planted++
				got, n := r.Text(text)
				piece := survivor(got, hidden)
				if piece == "" && n > 0 {
					continue
				}
				missed++
				if missed <= 25 {
					t.Errorf("%s, %s: %q survives (%d found)\n in: %.300q\nout: %.300q", k.name, c.name, piece, n, text, got)
				}
			}
		}
	}
	return planted, missed
}

func TestCorpusOfSecretsIsRedactedWhole(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	planted, missed := corpus(t, r, corpusSeed, 4)
	t.Logf("secrets: %d kinds, %d carriers, %d planted, %d missed", len(secretKinds), len(carriers), planted, missed)
	fmt.Printf("redaction corpus: %d kinds of secret in %d carriers: %d planted, %d missed\n", len(secretKinds), len(carriers), planted, missed)
}

func TestCorpusOfOtherSeeds(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	planted, missed := 0, 0
	for seed := range uint64(3) {
		p, m := corpus(t, r, seed, 1)
		planted, missed = planted+p, missed+m
	}
	t.Logf("secrets of other seeds: %d planted, %d missed", planted, missed)
}

// lookalikes must stay as they are. Placeholders are as in templates of
// secrets.
var lookalikes = []struct{ name, text string }{
	{"git commit", "commit {hex:40}"},
	{"git commit, short", "fixed in {hex:7} and {hex:12}"},
	{"git range", "git log {hex:40}..{hex:40}"},
	{"git object path", ".git/objects/{hex:2}/{hex:38}"},
	{"git tree line", "100644 blob {hex:40}\tinternal/state/state.go"},
	{"git sha-256 commit", "commit {hex:64}"},
	{"digest", "sha256:{hex:64}"},
	{"image", "registry.example/app@sha256:{hex:64}"},
	{"digest in capitals", "SHA256 {HEX:64}"},
	{"md5", "{hex:32}  file.tar.gz"},
	{"integrity", `"integrity": "sha512-{b64:86}=="`},
	{"integrity of a script", `integrity="sha384-{b64:64}"`},
	{"go.sum", "github.com/tidwall/gjson v1.20.3 h1:{b64:43}="},
	{"go.sum, mod", "github.com/tidwall/gjson v1.20.3/go.mod h1:{b64:43}="},
	{"pseudo version", "golang.org/x/exp v0.0.0-20260727124030-{hex:12}"},
	{"ssh fingerprint", "SHA256:{b64:43} bob@example (ED25519)"},
	{"ssh public key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64:43} bob@example"},
	{"ssh public key, rsa", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{b64:340} bob@example"},
	{"certificate", "-----BEGIN CERTIFICATE-----\n{pem:12}{b64:20}\n-----END CERTIFICATE-----"},
	{"public key", "-----BEGIN PUBLIC KEY-----\n{pem:4}-----END PUBLIC KEY-----"},
	{"talk of a key", "the file begins with -----BEGIN PRIVATE KEY----- and is skipped"},
	{"uuid", "{hex:8}-{hex:4}-4{hex:3}-a{hex:3}-{hex:12}"},
	{"uuid in capitals", "{HEX:8}-{HEX:4}-4{HEX:3}-A{HEX:3}-{HEX:12}"},
	{"transcript path", "/home/bob/.claude/projects/-home-bob-work-app/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}.jsonl"},
	{"subagent path", "/home/bob/.claude/projects/-w/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}/subagents/agent-a{hex:16}.jsonl"},
	{"rollout path", "/home/bob/.codex/sessions/2026/11/29/rollout-2026-11-29T10-11-12-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}.jsonl"},
	{"state path", "/home/bob/.local/state/reseat/s/claude-{hex:8}-{hex:32}/c/0007/packet/continuity.json"},
	{"tool call", "toolu_01{b62:22}"},
	{"tool call, server's", "srvtoolu_01{b62:22}"},
	{"tool call, another", "toolu_vrtx_01{b62:22}"},
	{"message", "msg_01{b62:22}"},
	{"message, Codex", "msg_{hex:50}"},
	{"request", "req_011C{b62:20}"},
	{"call", "call_{b62:24}"},
	{"response", "resp_{hex:50}"},
	{"reasoning", "rs_{hex:50}"},
	{"function call", "fc_{hex:50}"},
	{"custom tool call", "ctc_{hex:50}"},
	{"chat completion", "chatcmpl-{b62:29}"},
	{"agent", `"agent_id": "a{hex:16}"`},
	{"agent's old id", `"agentId": "{hex:8}"`},
	{"record", `{"uuid":"{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}","parentUuid":null,"sessionId":"{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"}`},
	{"prompt id", `"promptId":"{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"`},
	{"usage", `"usage":{"input_tokens":12345678,"cache_read_input_tokens":98765432,"output_tokens":5120}`},
	{"token count", `{"type":"token_count","info":{"total_token_usage":{"total_tokens":183221}}}`},
	{"token count in prose", "The token count is 183221 and the token budget 200000."},
	{"max tokens", "max_tokens=4096 MAX_TOKENS=200000 --max-tokens 8192"},
	{"tokenizer", `eos_token: "<|endoftext|>", pad_token = "<pad>", bos_token_id: 50256`},
	{"page token", `"nextPageToken": "{b62:24}"`},
	{"source path", "/srv/build/workspace/reseat/internal/continuity/restore/testdata/vectors/two-boundaries-in-a-row.jsonl"},
	{"go module path", "/home/u/go/pkg/mod/github.com/tailscale/hujson@v0.0.0-20260727124030-b80ff77dac4f/standard.go:118"},
	{"node path", "node_modules/.pnpm/@babel+core@7.28.0_supports-color@9.4.0/node_modules/@babel/core/lib/index.js"},
	{"nix path", "/nix/store/{b36:32}-glibc-2.40-66/lib/libc.so.6"},
	{"bazel path", "bazel-out/k8-fastbuild/bin/external/com_google_protobuf/src/google/protobuf/generated_message_util.o"},
	{"windows path", `C:\Users\bob\AppData\Local\reseat\s\claude-{hex:8}\c\0007\packet\restore-summary.json`},
	{"mac path", "/private/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/TemporaryItems/build"},
	{"cache path", "/home/u/.cache/go-build/{hex:2}/{hex:64}-d"},
	{"hash in a file name", "dist/assets/index-{b62:8}.js and dist/main.{hex:20}.chunk.css"},
	{"hashed file", "backups/{hex:64}.json"},
	{"java class", "org.springframework.boot.autoconfigure.condition.ConditionEvaluationReportLoggingListener"},
	{"stack trace", "github.com/reseat-dev/reseat/packet/transcript.(*reader).readBackwards(0xc000123456, {0x12ab34, 0x5})"},
	{"camel case", "getPasswordFromConfigurationAndValidateTheSecretTokenBeforeStartingTheServer()"},
	{"camel case with digits", "convertBase64ToUtf8StringAndValidateSha256ChecksumOfV2Payload"},
	{"kebab case", "this-is-a-very-long-branch-name-that-somebody-made-for-issue-1234-of-2026-11-29"},
	{"snake case", "test_that_the_packet_is_written_before_the_directive_is_emitted_and_confirmed_twice_2026"},
	{"constant", "ERR_INVALID_ARGUMENT_TYPE_FOR_CONFIGURATION_VALUE_OF_THRESHOLD_PERCENT"},
	{"test name", "TestDeliverOnceWhenTwoHooksRaceAndTheFirstOneIsKilledBeforeItPrinted/claude-2.1.332"},
	{"type", "password: string; token?: string | null; apiKey: string"},
	{"type, Go", "Password string `json:\"password\"`\n\tToken *string"},
	{"type, Python", "def login(user: str, password: str = None, token: Optional[str] = None) -> Token:"},
	{"type, Rust", "pub struct Auth { password: Option<String>, token: &'a str, secret: Vec<u8> }"},
	{"type, schema", `"password": {"type": "string"}, "token": {"type": "string", "minLength": 8}`},
	{"validation", "password: z.string().min(8), apiKey: z.string()"},
	{"call", "password = getPassword(); token := r.Header.Get(name); secret = os.urandom(16)"},
	{"await", "const token = await fetchToken(user); let secret = await vault.read(path);"},
	{"field", "password=args.password, token=self.token, api_key=config.api_key"},
	{"argument", "connect(user=user, password=password, token=token, api_key=api_key)"},
	{"comparison", "if token == nil || password != confirm || secret === undefined {"},
	{"index", "token = tokens[i]; password = form['password']; key = os.environ['API_KEY']"},
	{"environment in code", `apiKey: process.env.OPENAI_API_KEY, token = os.getenv("GITHUB_TOKEN"), secret := os.Getenv("CLIENT_SECRET")`},
	{"variable", "PASSWORD=$DB_PASSWORD TOKEN=${GITHUB_TOKEN} SECRET=$(cat /run/secrets/db)"},
	{"variable in a header", `curl -H "Authorization: Bearer $TOKEN" -H "X-Api-Key: ${API_KEY}" https://example.org`},
	{"variable in an address", "postgres://app:$DB_PASSWORD@db/app https://bob:${PASS}@example.org https://user:<password>@host"},
	{"template", "password: {{ .Values.db.password }} token: ${{ secrets.GITHUB_TOKEN }} key: %(api_key)s"},
	{"placeholder", "API_KEY=<your-api-key> TOKEN=your-token-here password=xxxxxxxx SECRET=******** token: ..."},
	{"placeholder of a token", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx sk-ant-xxxxxxxxxxxxxxxx sk-... AKIAXXXXXXXXXXXXXXXX xoxb-..."},
	{"prefix in prose", "Keys begin with sk-ant- or sk-proj-, tokens with ghp_, github_pat_, glpat- or xoxb-."},
	{"redacted", "password=[REDACTED] Authorization: Bearer [REDACTED] https://bob:[REDACTED]@example.org"},
	{"options in a help text", "  --password PASSWORD   the password\n  --token TOKEN         a token [--api-key API_KEY]\n  --secret string"},
	{"option that reads", "docker login --password-stdin -u bob; psql --no-password; gh auth login --with-token < token.txt"},
	{"secret as a file", "password_file: /run/secrets/db_password\nPASSWORD_FILE=/run/secrets/db\nprivate_key: /etc/ssl/private/server.key"},
	{"secret of kubernetes", "kind: Secret\nsecretName: my-app-secret\nsecretKeyRef:\n  name: my-app-secret\n  key: password"},
	{"commands about secrets", "kubectl get secret my-app-secret -o yaml; gh secret set DEPLOY_TOKEN; vault read secret/data/app"},
	{"prose", "The password must be at least 8 characters. The token expires in 15 minutes; a secret is a text that is known to two."},
	{"prose with colons", "Password: required. Token: the thing that proves it. Secret: none yet."},
	{"bearer in prose", "It uses bearer authentication, a bearer of bad news, Basic understanding and basic authentication."},
	{"header without a value", "Authorization: Bearer <token>\nAuthorization: none\nCookie: \nauthorization: required"},
	{"cookie in prose", "Cookie: a small text. cookies: true, sameSite: lax; cookie.parse(header)"},
	{"booleans", "password: true, hasToken=false, secret: null, isPassword = no, showPassword: false"},
	{"user id", "docker run -u 1000:1000 --user 0:0 app; curl -u bob https://example.org"},
	{"working folder", "PWD=/home/bob/work/app OLDPWD=/home/bob\npwd: /srv"},
	{"scikit-learn", "sk-estimator-doc-link sk-toggleable__label sk-parallel-item sk-container-id-1"},
	{"words that end in sk", "task-2026-11-29-make-the-hook-fast, disk-usage-of-the-whole-machine, risk-assessment-framework-v2"},
	{"npm settings", "npm_config_registry npm_package_scripts_postinstall npm_lifecycle_event"},
	{"names like prefixes", "hf_model_name_or_path re_compile_the_expressions key-value-store-of-the-cluster s.substring(0, 12) pat-terns"},
	{"base64 word", "QmFzZTY0 is base64, aGVsbG8gd29ybGQ= says hello world"},
	{"alphabet", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"},
	{"data address", "data:image/png;base64,{b64:200}"},
	{"css colours and sizes", "#a1b2c3 #ffffffff rgba(0,0,0,.5) 0x7ffee4b2c3d0 1,234,567,890"},
	{"numbers", "3.141592653589793238462643383279502884197169399375105820974944"},
	{"time and version", "2026-11-29T10:11:12.123456789Z v2.1.332 (build 20261129101112)"},
	{"line and column", "packet/redact/scan.go:118:32: undefined: tokens (typecheck)"},
	{"port and path", "http://[::1]:8080/@scope/pkg https://example.org:443/a@b http://localhost:3000/?q=a@b git@github.com:a/b.git"},
	{"mail", "bob@example.org, Bob <bob@example.org>, ssh://git@example.org/a/b.git"},
	{"checksum line", "{hex:64}  reseat_linux_amd64.tar.gz"},
	{"etag", `ETag: W/"{hex:32}"`},
	{"trace context", "traceparent: 00-{hex:32}-{hex:16}-01"},
	{"chinese", "密码是什么：请看配置。令牌数量：512。会话在压缩后继续，工作目录是 /home/bob/工作。"},
	{"emoji", "🔑 password 🔒 token ✅"},
	{"regular expression", "sk-ant-[A-Za-z0-9_-]{20,} ghp_[A-Za-z0-9]{36} AKIA[0-9A-Z]{16} eyJ[A-Za-z0-9_-]+\\.eyJ"},
	{"license key name", "license-key, licenseKey, public_key=pk, cache_key: v1-linux-{hex:12}, primary_key=True"},
	{"sort key", "sort_key: created_at, partition_key = \"tenant\", idempotency_key: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"},
	{"git log", "* {hex:7} (HEAD -> main) Redact before cutting\n* {hex:7} Read the tail first"},
	{"table of words", "| password | a secret word |\n| token | a sign |\n| --- | --- |"},
	{"list of fields", `["user", "password", "token", "api_key"], fields("password", "confirm")`},
	{"labels", `{"password": "Password", "token": "Token", "passwordHint": "Enter your password", "password": "Please enter your password"}`},
	{"pairs", `{"name": "password", "value": ""}, {"name": "token", "value": "$TOKEN"}, <add key="Title" value="a1b2c3d4e5" />, key: x, value: a1b2c3d4e5f6`},
	{"what tests say", "pass: 12, fail: 0; pass=true; 45 passed; bypass: yes; \"pass\": \"all tests\"; ok, pass"},
	{"statements", "passwd = HTTPPasswordMgr(); pwd = C.mygetpwnam_r(name, buf); l.password = f[i+1]; NF_PASS = 0x2; socks5Auth = Socks5Auth"},
	{"minified code", `this._password=s._password;break e}if("/"==y||l=="query")this._token=s._token,l="fragment"`},
	{"terminal output", "PASS=\"\x1b[32mPASS\" FAIL=\"\x1b[31mFAIL\""},
	{"handling of passwords", "since login will handle password aging, the --username and --password options are gone"},
	{"phrases", "mnemonic: a short word that stands for an instruction; seed phrase: see the vault"},
	{"log lines", "token=IDENT value=foo pos=12; auth=none; secret=missing; auth: basic; credentials: same-origin"},
}

// quiet are the carriers that look-alikes are met in.
var quiet = []int{0, 1, 2, 3, 4, 5, 6}

func TestLookalikesStay(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(corpusSeed, 2))
	shown, wrong, last := 0, 0, ""
	for _, l := range lookalikes {
		for _, n := range quiet {
			for range 4 {
				text := carriers[n].wrap(rng, expand(rng, l.text))
				shown++
				got, _ := r.Text(text)
				if got == text {
					continue
				}
				wrong++
				if last != l.name {
					last = l.name
					t.Errorf("%s, %s: redacted as %v\n in: %.300q\nout: %.300q", l.name, carriers[n].name, r.Find(text), text, got)
				}
			}
		}
	}
	fmt.Printf("redaction corpus: %d kinds of look-alike in %d carriers: %d shown, %d wrongly redacted\n", len(lookalikes), len(quiet), shown, wrong)
}
