package installer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/internal/state"
)

// The tests of this file run as an ordinary user, on whom permissions have an
// effect. Started as root, the test binary starts itself twice: once in a mount
// namespace of its own, to mount a full and a read-only file system there, and
// from that once more as nobody.
const (
	stageVar   = "RESEAT_TEST_STAGE"
	groundVar  = "RESEAT_TEST_GROUND"  // a folder that root prepared
	noMountVar = "RESEAT_TEST_NOMOUNT" // why nothing could be mounted
	homeVar    = "RESEAT_TEST_HOME"    // of one install among many
)

const nobody = 65534

func TestMain(m *testing.M) {
	switch os.Getenv(stageVar) {
	case "mount":
		os.Exit(mountStage())
	case "install":
		os.Exit(installStage())
	}
	os.Exit(m.Run())
}

func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		ordinaryUser(t)
		return
	}
	ground, err := os.MkdirTemp("", "reseat-test-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(ground) })
	must(t, os.Chmod(ground, 0o755))
	binary := filepath.Join(ground, "test")
	copyProgram(t, binary)
	for _, dir := range []string{"tmp", "small", "readonly"} {
		must(t, os.Mkdir(filepath.Join(ground, dir), 0o755))
		must(t, os.Chown(filepath.Join(ground, dir), nobody, nobody))
	}
	must(t, os.WriteFile(filepath.Join(ground, "foreign"), []byte("{}\n"), 0o644))
	must(t, os.Chmod(filepath.Join(ground, "foreign"), 0o666))
	cmd := exec.Command(binary, "-test.run=^TestAsOrdinaryUser$", "-test.v")
	cmd.Env = append(os.Environ(), stageVar+"=mount", groundVar+"="+ground)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	var refused syscall.Errno
	if errors.As(err, &refused) {
		t.Logf("no mount namespace: %v", err)
		cmd = exec.Command(binary, "-test.run=^TestAsOrdinaryUser$", "-test.v")
		cmd.Env = append(os.Environ(), stageVar+"=mount", groundVar+"="+ground, noMountVar+"=no mount namespace: "+err.Error())
		out, err = cmd.CombinedOutput()
	}
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("as nobody: %v", err)
	}
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	must(t, err)
	defer from.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, from)
	must(t, errors.Join(err, out.Close()))
}

// mountStage mounts what the tests need, where that is allowed, and goes on as
// nobody.
func mountStage() int {
	ground := os.Getenv(groundVar)
	env := append(os.Environ(), stageVar+"=", "TMPDIR="+filepath.Join(ground, "tmp"))
	if os.Getenv(noMountVar) == "" {
		if err := mountAll(ground); err != nil {
			env = append(env, noMountVar+"="+err.Error())
		}
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, os.Stdout, os.Stderr
	cmd.Dir = filepath.Join(ground, "tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := cmd.Run(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func mountAll(ground string) error {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := syscall.Mount("tmpfs", filepath.Join(ground, "small"), "tmpfs", 0, "size=256k,mode=0777"); err != nil {
		return fmt.Errorf("mounting a small file system: %w", err)
	}
	readonly := filepath.Join(ground, "readonly")
	for _, c := range client.All() {
		dir := filepath.Join(readonly, string(c))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		for name, content := range map[string]string{"settings.json": "{}\n", "config.toml": "a = 1\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				return err
			}
			if err := os.Chown(filepath.Join(dir, name), nobody, nobody); err != nil {
				return err
			}
		}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return err
		}
	}
	if err := syscall.Mount(readonly, readonly, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting a folder on itself: %w", err)
	}
	if err := syscall.Mount("none", readonly, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("making it read-only: %w", err)
	}
	return nil
}

func ordinaryUser(t *testing.T) {
	for _, c := range client.All() {
		t.Run(string(c), func(t *testing.T) {
			t.Run("links", func(t *testing.T) { linksStay(t, c) })
			t.Run("refused", func(t *testing.T) { oddFilesAreRefused(t, c) })
			t.Run("read-only folder", func(t *testing.T) { readOnlyFolder(t, c) })
			t.Run("read-only file system", func(t *testing.T) { readOnlyFileSystem(t, c) })
			t.Run("full file system", func(t *testing.T) { fullFileSystem(t, c) })
			t.Run("full state", func(t *testing.T) { fullState(t, c) })
			t.Run("file too large", func(t *testing.T) { fileTooLarge(t, c) })
			t.Run("changed in between", func(t *testing.T) { changedInBetween(t, c) })
			t.Run("ten at once and a stranger", func(t *testing.T) { tenAtOnce(t, c) })
		})
	}
}

// configFile is the usual configuration of a client below a home.
func configFile(c client.Client) string {
	if c == client.Codex {
		return ".codex/config.toml"
	}
	return ".claude/settings.json"
}

func sampleOf(c client.Client) string {
	if c == client.Codex {
		return "model = \"m\" # mine\n"
	}
	return "{\n\t\"model\": \"opus\"\n}\n"
}

func linksStay(t *testing.T, c client.Client) {
	base := filepath.Base(configFile(c))
	for name, make := range map[string]func(s *sandbox, file string){
		"relative": func(s *sandbox, file string) {
			s.write(s.path("dotfiles/real"), sampleOf(c))
			s.link("../dotfiles/real", file)
		},
		"chained": func(s *sandbox, file string) {
			s.write(s.path("dotfiles/real"), sampleOf(c))
			s.link(s.path("dotfiles/real"), s.path("second"))
			s.link("../second", file)
		},
		"dangling": func(s *sandbox, file string) {
			must(t, os.MkdirAll(s.path("dotfiles"), 0o700))
			s.link("../dotfiles/none", file)
		},
		"below a linked folder": func(s *sandbox, file string) {
			s.write(s.path("real"), sampleOf(c))
			must(t, os.MkdirAll(s.path("deep/er/dotfiles"), 0o700))
			must(t, os.Symlink("../../../real", s.path("deep/er/dotfiles/"+base)))
			must(t, os.Symlink("deep/er/dotfiles", filepath.Dir(file)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, c)
			file := s.path(configFile(c))
			make(s, file)
			before := snapshot(t, s.home)
			s.install()
			if s.install().Changed() {
				t.Error("the second install changed something")
			}
			if !strings.Contains(s.read(file), Precompact) {
				t.Error("not installed")
			}
			s.uninstall()
			must(t, os.RemoveAll(s.path(".local/state")))
			sameSnapshot(t, before, snapshot(t, s.home))
		})
	}
}

func (s *sandbox) link(to, path string) {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(s.t, os.Symlink(to, path))
}

func oddFilesAreRefused(t *testing.T, c client.Client) {
	for name, odd := range map[string]struct {
		make func(t *testing.T, s *sandbox, file string)
		want string
	}{
		"loop":      {func(t *testing.T, s *sandbox, file string) { s.link(filepath.Base(file), file) }, "loop"},
		"read-only": {func(t *testing.T, s *sandbox, file string) { s.write(file, "{}"); must(t, os.Chmod(file, 0o444)) }, "read-only"},
		"hard link": {func(t *testing.T, s *sandbox, file string) {
			s.write(file, "")
			must(t, os.Link(file, s.path("second")))
		}, "hard links"},
		"folder": {func(t *testing.T, s *sandbox, file string) { must(t, os.MkdirAll(file, 0o700)) }, "a folder"},
		"pipe": {func(t *testing.T, s *sandbox, file string) {
			s.write(file, "")
			must(t, os.Remove(file))
			must(t, syscall.Mkfifo(file, 0o600))
		}, "not a regular file"},
		"foreign owner": {func(t *testing.T, s *sandbox, file string) {
			foreign := filepath.Join(os.Getenv(groundVar), "foreign")
			if os.Getenv(groundVar) == "" {
				t.Skip("only root can make a file of another owner")
			}
			s.link(foreign, file)
		}, "owned by user 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, c)
			odd.make(t, s, s.path(configFile(c)))
			before := snapshot(t, s.home)
			_, err := s.tryInstall()
			var r *Refusal
			if !errors.As(err, &r) || !strings.Contains(r.Reason, odd.want) || r.Hint == "" {
				t.Errorf("%v", err)
			}
			must(t, os.RemoveAll(s.path(".local/state")))
			sameSnapshot(t, before, snapshot(t, s.home))
		})
	}
}

func readOnlyFolder(t *testing.T, c client.Client) {
	s := newSandbox(t, c)
	file := s.path(configFile(c))
	s.write(file, sampleOf(c))
	must(t, os.Chmod(filepath.Dir(file), 0o500))
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(file), 0o700) })
	s.failsAndLeaves(file, fs.ErrPermission)
}

// failsAndLeaves installs, expects an error, and finds everything below the
// folder of file as it was and no receipt.
func (s *sandbox) failsAndLeaves(file string, want error) {
	s.t.Helper()
	before := snapshot(s.t, filepath.Dir(file))
	if _, err := s.tryInstall(); !errors.Is(err, want) {
		s.t.Errorf("%v, want %v", err, want)
	}
	sameSnapshot(s.t, before, snapshot(s.t, filepath.Dir(file)))
	if receipts, err := Receipts(s.opts.State); err != nil || len(receipts) > 0 {
		s.t.Errorf("receipts %+v, %v", receipts, err)
	}
}

func mounted(t *testing.T, dir string) string {
	t.Helper()
	if os.Getenv(groundVar) == "" {
		t.Skip("only root can mount")
	}
	if why := os.Getenv(noMountVar); why != "" {
		t.Skip(why)
	}
	return filepath.Join(os.Getenv(groundVar), dir)
}

func readOnlyFileSystem(t *testing.T, c client.Client) {
	dir := mounted(t, "readonly")
	s := newSandbox(t, c)
	s.env["CLAUDE_CONFIG_DIR"], s.env["CODEX_HOME"] = filepath.Join(dir, "claude"), filepath.Join(dir, "codex")
	file := filepath.Join(dir, string(c), filepath.Base(configFile(c)))
	before := snapshot(t, dir)
	_, err := s.tryInstall()
	var r *Refusal
	if !errors.As(err, &r) || !strings.Contains(r.Reason, "read-only") {
		t.Errorf("%v", err)
	}
	sameSnapshot(t, before, snapshot(t, dir))
	t.Logf("%s: %v", file, err)
}

func fullFileSystem(t *testing.T, c client.Client) {
	dir := filepath.Join(mounted(t, "small"), string(c))
	s := newSandbox(t, c)
	s.env["CLAUDE_CONFIG_DIR"], s.env["CODEX_HOME"] = dir, dir
	file := filepath.Join(dir, filepath.Base(configFile(c)))
	s.write(file, sampleOf(c))
	fill(t, dir)
	s.failsAndLeaves(file, syscall.ENOSPC)
	must(t, os.RemoveAll(dir))
}

// fill leaves no room on the file system of dir.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	must(t, err)
	defer f.Close()
	for n := 64 << 10; n > 0; {
		if _, err := f.Write(make([]byte, n)); errors.Is(err, syscall.ENOSPC) {
			n /= 2
		} else {
			must(t, err)
		}
	}
}

func fullState(t *testing.T, c client.Client) {
	dir := filepath.Join(mounted(t, "small"), "state")
	s := newSandbox(t, c)
	s.opts.State = state.Home(dir)
	must(t, s.opts.State.Open())
	must(t, os.MkdirAll(s.opts.State.Backups(), 0o700))
	file := s.path(configFile(c))
	s.write(file, sampleOf(c))
	fill(t, dir)
	s.failsAndLeaves(file, syscall.ENOSPC)
	must(t, os.RemoveAll(dir))
}

// fileTooLarge makes the write of the new file fail half-way, at a limit on file
// sizes, in a process of its own.
func fileTooLarge(t *testing.T, c client.Client) {
	s := newSandbox(t, c)
	file := s.path(configFile(c))
	s.write(file, sampleOf(c))
	before := snapshot(t, filepath.Dir(file))
	out, err := s.installProcess(c, "ulimit -f 0; trap '' XFSZ; ").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("file too large")) {
		t.Errorf("%v: %s", err, out)
	}
	sameSnapshot(t, before, snapshot(t, filepath.Dir(file)))
}

// installProcess is an install into the sandbox in a process of its own; shell
// is put before it.
func (s *sandbox) installProcess(c client.Client, shell string) *exec.Cmd {
	self, err := os.Executable()
	must(s.t, err)
	cmd := exec.Command("/bin/sh", "-c", shell+`exec "$0" "$@"`, self, string(c))
	cmd.Env = append(os.Environ(), stageVar+"=install", homeVar+"="+s.home)
	return cmd
}

func installStage() int {
	home := os.Getenv(homeVar)
	o := Options{
		Clients: []client.Client{client.Client(os.Args[1])}, Home: home, Programs: filepath.Join(home, ".local", "bin"),
		State: state.Home(filepath.Join(home, ".local", "state", "reseat")), Project: home, Root: filepath.Join(home, "root"),
		Getenv: func(name string) string { return map[string]string{"HOME": home}[name] },
	}
	p, err := PlanInstall(o)
	if err == nil {
		_, err = p.Apply(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// changedInBetween has another program write the file after it was read: its
// change is kept, and ours is made to it.
func changedInBetween(t *testing.T, c client.Client) {
	s := newSandbox(t, c)
	must(t, os.MkdirAll(s.opts.State.Backups(), 0o700))
	file := s.path(configFile(c))
	s.write(file, sampleOf(c))
	steps, err := s.opts.installSteps(c)
	must(t, err)
	step := steps[0]
	edit, writes := step.edit, 3
	step.edit = func(f *durable.UserFile, r *Receipt) (outcome, error) {
		out, err := edit(f, r)
		if writes > 0 {
			writes--
			s.write(file, strings.Replace(s.read(file), "m", "mm", 1))
		}
		return out, err
	}
	change, err := (writer{s.opts}).do(step)
	must(t, err)
	want := strings.Replace(sampleOf(c), "m", "mmmm", 1)
	if now := s.read(file); !strings.HasPrefix(strings.Replace(now, ",", "", 1), want[:len(want)-3]) || !strings.Contains(now, Precompact) {
		t.Errorf("%s: %q", change.Action, now)
	}
	writes = 1 << 30
	s.uninstall()
	before := s.read(file)
	_, err = (writer{s.opts}).do(step)
	var r *Refusal
	if !errors.As(err, &r) || !strings.Contains(r.Reason, "keeps writing") {
		t.Errorf("%v", err)
	}
	if now := s.read(file); strings.Contains(now, Precompact) || len(now) != len(before)+tries {
		t.Errorf("%q, was %q", now, before)
	}
	if receipts, err := Receipts(s.opts.State); err != nil || len(receipts) > 0 {
		t.Errorf("receipts %+v, %v", receipts, err)
	}
}

// tenAtOnce runs ten installs as processes while a stranger, who knows no lock,
// adds to the file: nothing of the stranger's is lost, nothing of ours is double,
// and no temporary file stays.
func tenAtOnce(t *testing.T, c client.Client) {
	s := newSandbox(t, c)
	file := s.path(configFile(c))
	s.write(file, sampleOf(c))
	const added = 200
	var all sync.WaitGroup
	all.Go(func() {
		for i := range added {
			s.strangerAdds(c, file, i)
		}
	})
	for range 10 {
		all.Go(func() {
			if out, err := s.installProcess(c, "").CombinedOutput(); err != nil && !bytes.Contains(out, []byte("another program")) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	s.install() // the stranger may have written over the last one
	now := s.read(file)
	for i := range added {
		if !strings.Contains(now, fmt.Sprintf("stranger%d", i)) {
			t.Fatalf("the stranger's addition %d of %d is lost", i, added)
		}
	}
	if n := strings.Count(now, Precompact); n != 1 {
		t.Errorf("%d entries at PreCompact", n)
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	t.Logf("ten installs, %d additions of the stranger's: all there", added)
}

// strangerAdds is what other programs do: read, change, write beside, rename.
func (s *sandbox) strangerAdds(c client.Client, file string, n int) {
	data, err := os.ReadFile(file)
	if err != nil {
		s.t.Error(err)
		return
	}
	name := fmt.Sprintf("stranger%d", n)
	if c == client.Codex {
		data = append([]byte(name+" = true\n"), data...)
	} else {
		var top map[string]any
		if err := json.Unmarshal(data, &top); err != nil {
			s.t.Error(err)
			return
		}
		top[name] = true
		data, _ = json.MarshalIndent(top, "", "  ")
	}
	beside := filepath.Join(s.home, "stranger.tmp")
	if err := errors.Join(os.WriteFile(beside, data, 0o600), os.Rename(beside, file)); err != nil {
		s.t.Error(err)
	}
}
