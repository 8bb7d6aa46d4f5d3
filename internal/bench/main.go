// Bench measures what people wait for: the programs as wholes, over generated
// transcripts of both clients, against floors of the same machine in the same
// run. It is for developers (make bench) and keeps promise 3's "a few
// milliseconds" in numbers.
//
// It starts the built programs only and asserts nothing about time: it prints
// what was met. It fails where a program fails, where a packet isn't valid or
// doesn't hold a nonce that it claims to cover. Transcripts are made in a
// temporary folder, used, and removed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// options are the flags.
type options struct {
	sizes []int64 // of the transcripts, in bytes, ascending; the first is the base
	full  int64   // the largest that packet write --full-transcript is run on
	runs  int     // counted rounds
	seats int     // of compact-plan
	burst int     // hooks at once
	seed  uint64
	temp  string // "" for the system's
	out   string // folder of the results
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	if getenv(runnerVar) != "" {
		return serve(stdin, stdout)
	}
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 64
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 1
	}
	return 0
}

func bench(ctx context.Context, o options, stdout, progress io.Writer) (err error) {
	w, err := newWorld(ctx, o, progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.measureAll(ctx); err != nil {
		return err
	}
	return w.results().write(o.out, stdout)
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	sizes := f.String("sizes", "1,50,500,4096", "sizes of the transcripts in MiB, the smallest first")
	full := f.Int64("full", 500, "largest transcript, in MiB, that is written out whole")
	f.IntVar(&o.runs, "runs", 15, "counted rounds")
	f.IntVar(&o.seats, "seats", 200, "seats that compact-plan looks at")
	f.IntVar(&o.burst, "burst", 50, "hooks at once")
	f.Uint64Var(&o.seed, "seed", 1, "of the transcripts")
	f.StringVar(&o.temp, "temp", "", "where the transcripts go, the largest size and a tenth (default: the system's temporary folder)")
	f.StringVar(&o.out, "out", filepath.Join("bench", "out"), "folder for results.txt, results.json and cost.svg")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for _, word := range strings.FieldsFunc(*sizes, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 || len(o.sizes) > 0 && n<<20 <= o.sizes[len(o.sizes)-1] {
			return o, fmt.Errorf("-sizes %q: give ascending numbers of MiB", *sizes)
		}
		o.sizes = append(o.sizes, n<<20)
	}
	o.full = *full << 20
	if len(o.sizes) == 0 || o.runs < 1 || o.seats < 0 || o.burst < 0 || o.burst > o.seats || f.NArg() > 0 {
		return o, errors.New("give at least one size and one run, no more hooks at once than seats, and no arguments")
	}
	return o, nil
}
