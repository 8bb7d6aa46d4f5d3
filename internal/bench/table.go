package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// write prints the table and leaves it, the numbers and the plot in dir.
func (r *results) write(dir string, stdout io.Writer) error {
	var table bytes.Buffer
	if err := r.table(&table); err != nil {
		return err
	}
	data, err := r.json()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"results.txt": table.Bytes(), "results.json": data, "cost.svg": r.svg()} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "%s\nwritten: results.txt, results.json and cost.svg in %s\n", table.Bytes(), dir)
	return err
}

// json puts each row on a line of its own, so that two results can be compared
// with diff.
func (r *results) json() ([]byte, error) {
	rows := r.Rows
	head := *r
	head.Rows = []row{}
	out, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	out = bytes.TrimSuffix(out, []byte("]}"))
	for i, one := range rows {
		line, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		out = append(append(out, '\n'), line...)
		if i < len(rows)-1 {
			out = append(out, ',')
		}
	}
	return append(out, "\n]}\n"...), nil
}

// table lays the rows out for a person.
func (r *results) table(out io.Writer) error {
	fmt.Fprintf(out, "%s; %d rounds, seed %d. Load average: %s.\nTimes in ms, peaks in MB; in brackets: of the minima.\n\n", r.Machine, r.Runs, r.Seed, cmp.Or(r.Load, "unknown"))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tclient\tMB\tmedian\tmin\tquartiles\tmax\tcpu\tpeak\tsyncs\taim\tmeasured\tmet")
	met, missed := 0, 0
	before := ""
	for _, row := range r.Rows {
		what := row.What
		if what == before {
			what = ""
		}
		before = row.What
		size, syncs, peak := "", "", ""
		if row.SizeMB > 0 || row.Client != "" {
			size = fmt.Sprint(row.SizeMB)
		}
		if row.Syncs >= 0 {
			syncs = fmt.Sprint(row.Syncs)
		}
		if row.Peak > 0 {
			peak = fmt.Sprintf("%.1f", row.Peak)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.2f\t%.2f-%.2f\t%.2f\t%.2f\t%s\t%s\t", what, row.Client, size, row.Median, row.Min, row.Q1, row.Q3, row.Max, row.CPU, peak, syncs)
		for i, a := range row.Aims {
			if i > 0 {
				fmt.Fprint(t, strings.Repeat("\t", 10))
			}
			verdict := "yes"
			if a.Met {
				met++
			} else {
				verdict = "NO"
				missed++
			}
			measured := fmt.Sprint(a.Got)
			if a.Least > 0 {
				measured += fmt.Sprintf(" (%v)", a.Least)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\n", a.Text, measured, verdict)
		}
		if len(row.Aims) == 0 {
			fmt.Fprintln(t, "\t\t")
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\naims met: %d, missed: %d\n", met, missed)
	return err
}
