//go:build e2e

package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/stubmodel/openai"
)

// realClients are the pinned versions; make e2e puts them into the cache.
var realClients = map[client.Client][]string{
	client.Claude: {"2.1.332", "2.1.322", "2.1.197"},
	client.Codex:  {"0.171.0", "0.139.0", "0.133.0"},
}

// realClient is the program of a pinned client.
func realClient(t *testing.T, c client.Client, version string) string {
	t.Helper()
	cache := os.Getenv("RESEAT_CLIENT_CACHE")
	if cache == "" {
		cache = filepath.Join("..", "..", ".cache", "clients")
	}
	pattern := filepath.Join(cache, string(c)+"-"+version, "node_modules", "@anthropic-ai", "claude-code-*", "claude")
	if c == client.Codex {
		pattern = filepath.Join(cache, string(c)+"-"+version, "node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex")
	}
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d programs at %s, so nothing is proved: run make e2e first", len(found), pattern)
	}
	program, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func eachRealClient(t *testing.T, test func(t *testing.T, w *ward, o LiveOptions)) {
	for _, c := range client.All() {
		for _, version := range realClients[c] {
			t.Run(string(c)+" "+version, func(t *testing.T) {
				w := newWard(t)
				w.installIn(c, installer.User, true)
				o := LiveOptions{Install: w.opts.Install, Program: map[client.Client]string{c: realClient(t, c, version)}}
				o.Install.Clients = []client.Client{c}
				o.Progress = func(c client.Client, what string) { t.Logf("%s: %s", c, what) }
				test(t, w, o)
			})
		}
	}
}

func show(t *testing.T, r Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b, true); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", b.String())
	return b.String()
}

func TestLiveIsGreenWithARealClient(t *testing.T) {
	eachRealClient(t, func(t *testing.T, w *ward, o LiveOptions) {
		r := Live(context.Background(), o)
		show(t, r)
		if r.ExitCode() != Healthy || len(r.Findings) != 1 || r.Findings[0].Colour != Green {
			t.Errorf("%+v", r)
		}
	})
}

// TestLiveIsRedWhenTheContextIsStripped puts a proxy between client and stub that
// takes out what hooks inject.
func TestLiveIsRedWhenTheContextIsStripped(t *testing.T) {
	eachRealClient(t, func(t *testing.T, w *ward, o LiveOptions) {
		o.Between = func(stub string) (string, error) {
			target, err := url.Parse(stub)
			if err != nil {
				return "", err
			}
			proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
				body, _ := io.ReadAll(r.In.Body)
				body = stripped(body)
				r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			}}
			server := httptest.NewServer(http.Handler(proxy))
			t.Cleanup(server.Close)
			return server.URL + target.Path, nil
		}
		r := Live(context.Background(), o)
		text := show(t, r)
		if r.ExitCode() != Sick || len(r.Findings) != 1 || r.Findings[0].Colour != Red {
			t.Errorf("%+v", r)
		}
		for _, want := range []string{"the directive did not reach the model", "hook: PreCompact, prepared", "delivered"} {
			if !strings.Contains(text, want) {
				t.Errorf("the report lacks %q", want)
			}
		}
	})
}

// stripped is a request without any text that names a packet.
func stripped(body []byte) []byte {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return body
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch x := v.(type) {
		case map[string]any:
			for name, y := range x {
				x[name] = walk(y)
			}
		case []any:
			for i, y := range x {
				x[i] = walk(y)
			}
		case string:
			if strings.Contains(x, "/state/s/") {
				return "(stripped)"
			}
		}
		return v
	}
	out, err := json.Marshal(walk(v))
	if err != nil {
		return body
	}
	return out
}

// TestTrustHooksMakesCodexRunThem installs without and with the approval, and
// runs codex exec, which has no flag to go without.
func TestTrustHooksMakesCodexRunThem(t *testing.T) {
	for _, version := range realClients[client.Codex] {
		t.Run(version, func(t *testing.T) {
			stub, err := openai.Serve(nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = stub.Close() })
			w := newWard(t)
			w.must(os.MkdirAll(w.path("clients"), 0o700))
			w.must(os.Symlink(realClient(t, client.Codex, version), w.path("clients/codex")))
			w.write(codexTOML, fmt.Sprintf("model = \"gpt-5.5\"\nmodel_provider = \"stub\"\ncheck_for_update_on_startup = false\n\n[model_providers.stub]\nname = \"stub\"\nbase_url = %q\nwire_api = \"responses\"\nenv_key = \"STUB_KEY\"\n", stub.BaseURL()))
			exec := func() {
				tried := &trial{LiveOptions: LiveOptions{Install: w.opts.Install}, c: client.Codex, program: w.path("clients/codex"), home: w.home}
				if _, err := tried.outputIn([]string{"CODEX_HOME=" + w.path(".codex"), "STUB_KEY=sk-EXAMPLE"}, "", "exec", "--json", "--skip-git-repo-check", "Hello."); err != nil {
					t.Fatal(err)
				}
			}
			w.opts.SkipRun = true

			w.installIn(client.Codex, installer.User, false)
			exec()
			if last, event := lastRun(w.opts.Install.State, client.Codex); !last.IsZero() {
				t.Errorf("without approval the hook at %s ran", event)
			}
			report := Check(context.Background(), w.opts)
			text := show(t, report)
			if report.ExitCode() != Sick || !strings.Contains(text, "yellow  codex   Codex skips our hooks in silence until you approve them (untrusted)") || !strings.Contains(text, "reseat install --client codex --trust-hooks") {
				t.Errorf("exit code %d", report.ExitCode())
			}

			o := w.opts.Install
			o.Clients, o.TrustHooks = []client.Client{client.Codex}, true // asks this codex about keys and hashes
			plan, err := installer.PlanInstall(o)
			w.must(err)
			done, err := plan.Apply(context.Background())
			w.must(err)
			for _, change := range done.Changes {
				t.Logf("%s %s: %d approvals", change.Action, change.Path, len(change.Approvals))
			}
			exec()
			if last, _ := lastRun(w.opts.Install.State, client.Codex); last.IsZero() {
				t.Error("with approval no hook ran")
			}
			report = Check(context.Background(), w.opts)
			if text = show(t, report); report.ExitCode() != Healthy || !strings.Contains(text, "(approved)") {
				t.Errorf("exit code %d", report.ExitCode())
			}
		})
	}
}
