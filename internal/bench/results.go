package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
)

// results is what a benchmark came to.
type results struct {
	Machine string     `json:"machine"`
	Load    string     `json:"load"` // the load average before and after, "" where the system doesn't tell
	Runs    int        `json:"runs"`
	Seed    uint64     `json:"seed"`
	Sizes   []int64    `json:"sizes_mb"`
	Rows    []row      `json:"rows"`
	plot    []plotLine // cost against size
}

// row is one line of the table. Times are in milliseconds, memory in MB.
type row struct {
	What   string  `json:"what"`
	Client string  `json:"client,omitempty"`
	SizeMB int64   `json:"size_mb"`
	N      int     `json:"n"`
	Median float64 `json:"median_ms"`
	Min    float64 `json:"min_ms"`
	Q1     float64 `json:"q1_ms"`
	Q3     float64 `json:"q3_ms"`
	Max    float64 `json:"max_ms"`
	CPU    float64 `json:"cpu_ms"`
	Peak   float64 `json:"peak_mb"`
	Syncs  int     `json:"syncs"` // -1: not counted
	Aims   []aim   `json:"aims"`
}

// aim is one limit on a row.
type aim struct {
	Text  string  `json:"aim"`
	Limit float64 `json:"limit"` // in the unit of what is measured
	Got   float64 `json:"got"`
	Met   bool    `json:"met"`
	// Least is the same as Got with minima for medians, where that makes sense:
	// on a machine that others use too the minima tell more.
	Least float64 `json:"got_of_minima,omitempty"`
}

const mb = 1 << 20

// load is the machine's load average over a minute: what others do on it is in
// every number.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	minute, _, _ := strings.Cut(string(data), " ")
	return minute
}

func (w *world) results() *results {
	r := &results{Machine: fmt.Sprintf("%s/%s, %s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.Version(), min(runtime.NumCPU(), processors)), Runs: w.o.runs, Seed: w.o.seed}
	if before, after := w.load, load(); before != "" {
		r.Load = before + " before, " + after + " after"
	}
	for _, size := range w.o.sizes {
		r.Sizes = append(r.Sizes, size/mb)
	}
	add := func(k key, aims ...aim) {
		if row, ok := w.row(k); ok {
			row.Aims = aims
			r.Rows = append(r.Rows, row)
		}
	}
	for _, what := range []string{empty, small, status} {
		add(key{what: what})
	}
	for _, what := range []string{countNL, idle, settled, deliver, first, later, rescue, refresh, whole} {
		for _, c := range client.All() {
			for _, size := range w.o.sizes {
				k := key{what, c, size}
				add(k, w.aims(k)...)
			}
		}
	}
	add(key{what: plan}, w.aims(key{what: plan})...)
	for _, b := range bursts {
		add(key{what: b.inTurn})
		add(key{what: b.atOnce}, w.burstAims(key{what: b.inTurn}, key{what: b.atOnce}, b.limit)...)
	}
	r.plot = w.plotLines()
	return r
}

// row sums up the runs of k; ok is false where there are none.
func (w *world) row(k key) (r row, ok bool) {
	runs := w.samples[k]
	if len(runs) == 0 {
		return r, false
	}
	walls := sorted(runs, func(r report) float64 { return ms(r.Wall) })
	r = row{
		What: k.what, Client: string(k.client), SizeMB: k.size / mb, N: len(runs), Aims: []aim{}, Syncs: -1,
		Median: quantile(walls, 0.5), Min: walls[0], Q1: quantile(walls, 0.25), Q3: quantile(walls, 0.75), Max: walls[len(walls)-1],
		CPU:  round(quantile(sorted(runs, func(r report) float64 { return ms(r.CPU) }), 0.5)),
		Peak: w.peak(k),
	}
	if n, counted := w.syncs[k]; counted {
		r.Syncs = n
	}
	for _, v := range []*float64{&r.Median, &r.Min, &r.Q1, &r.Q3, &r.Max} {
		*v = round(*v)
	}
	return r, true
}

// peak is the most that any run of k took, in MB.
func (w *world) peak(k key) float64 {
	most := slices.MaxFunc(w.samples[k], func(a, b report) int { return int(a.Peak - b.Peak) }).Peak
	return round(float64(most) / mb)
}

func sorted(runs []report, of func(report) float64) []float64 {
	all := make([]float64, 0, len(runs))
	for _, r := range runs {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all
}

// quantile of ascending values, between two of them where it has to be.
func quantile(values []float64, q float64) float64 {
	at := q * float64(len(values)-1)
	i := int(at)
	if i+1 >= len(values) {
		return values[len(values)-1]
	}
	return values[i] + (at-float64(i))*(values[i+1]-values[i])
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// round keeps two decimals: what changes behind them is noise.
func round(v float64) float64 { return float64(int64(v*100+0.5)) / 100 }

// typical and least are the median and the minimum of k's runs, in ms.
func (w *world) typical(k key) float64 { return w.of(k, 0.5) }
func (w *world) least(k key) float64   { return w.of(k, 0) }

func (w *world) of(k key, q float64) float64 {
	runs := w.samples[k]
	if len(runs) == 0 {
		return 0
	}
	return quantile(sorted(runs, func(r report) float64 { return ms(r.Wall) }), q)
}
