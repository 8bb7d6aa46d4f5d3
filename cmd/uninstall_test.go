package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What a person gets from the command itself: the bytes of both clients'
// configuration as they were, and no file where there was none.
func TestUninstallGivesBackBothConfigurations(t *testing.T) {
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	for name, before := range map[string]map[string]string{
		"nothing there": nil,
		"a person's own": {
			".claude/settings.json": "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"date\"}]}]}\r\n}",
			".codex/config.toml":    "# mine\nmodel = \"o\" # the old one\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"date\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for _, dir := range []string{".claude", ".codex"} {
				if err := os.Mkdir(filepath.Join(home, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for path, text := range before {
				if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			reseat := func(args ...string) {
				t.Helper()
				cmd := exec.Command(filepath.Join(bin, "reseat"), args...)
				cmd.Dir = home
				cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
			}
			reseat("install", "--client", "claude,codex", "--trust-hooks", "--yes")
			for _, path := range []string{".claude/settings.json", ".codex/config.toml"} {
				if data, err := os.ReadFile(filepath.Join(home, path)); err != nil || string(data) == before[path] {
					t.Fatalf("install left %s as it was: %v", path, err)
				}
			}
			reseat("uninstall", "--yes")
			for _, path := range []string{".claude/settings.json", ".codex/config.toml"} {
				data, err := os.ReadFile(filepath.Join(home, path))
				want, was := before[path]
				switch {
				case !was && !os.IsNotExist(err):
					t.Errorf("%s wasn't there before, and is now: %q, %v", path, data, err)
				case was && string(data) != want:
					t.Errorf("%s\ngot  %q, %v\nwant %q", path, data, err, want)
				}
				if info, err := os.Stat(filepath.Join(home, path)); was && (err != nil || info.Mode().Perm() != 0o640) {
					t.Errorf("%s: mode %v, %v", path, info, err)
				}
			}
		})
	}
}
