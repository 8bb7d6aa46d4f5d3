package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const module = "github.com/reseat-dev/reseat"

// processors is how many the programs run on.
const processors = 2

// stripped are the flags of make build.
var stripped = []string{"build", "-trimpath", "-ldflags", "-s -w"}

// build puts the programs, and an empty one for the floor, into the folder bin.
func build(ctx context.Context, bin string) error {
	args := append([]string(nil), stripped...)
	args = append(args, "-o", bin+string(filepath.Separator))
	for _, p := range []string{"reseat", "reseat-precompact", "reseat-directive", "reseat-runtime-claude", "reseat-runtime-codex"} {
		args = append(args, module+"/cmd/"+p)
	}
	if err := goTool(ctx, "", args); err != nil {
		return err
	}
	source := filepath.Join(bin, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return err
	}
	args = append([]string(nil), stripped...)
	return goTool(ctx, bin, append(args, "-o", filepath.Join(bin, "empty"), source))
}

func goTool(ctx context.Context, dir string, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// Files of the repository that the sessions work in.
const (
	folders        = 20
	filesPerFolder = 15
)

// repository makes the folder that the sessions work in: a git repository with
// a few hundred files, of which three are changed and two are new.
func repository(ctx context.Context, dir string) error {
	git := func(args ...string) error {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "user.name=A Person", "-c", "user.email=person@example.invalid"}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
		}
		return nil
	}
	write := func(folder, file int, text string) error {
		path := filepath.Join(dir, fmt.Sprintf("pkg%d", folder), fmt.Sprintf("file%d.go", file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o644)
	}
	for folder := range folders {
		for file := range filesPerFolder {
			if err := write(folder, file, fmt.Sprintf("package pkg%d\n\nconst file%d = true\n", folder, file)); err != nil {
				return err
			}
		}
	}
	for _, step := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "Begin"}} {
		if err := git(step...); err != nil {
			return err
		}
	}
	for i := range 5 {
		if err := write(i, filesPerFolder-3+i, fmt.Sprintf("package pkg%d\n\nconst changed = %d\n", i, i)); err != nil {
			return err
		}
	}
	return nil
}
