package main

import (
	"fmt"
	"time"
)

// times is the aim that k costs at most factor times what floor costs.
func (w *world) times(k, floor key, factor float64, text string) aim {
	a := aim{Text: text, Limit: factor, Got: round(w.typical(k) / w.typical(floor)), Least: round(w.least(k) / w.least(floor))}
	a.Met = a.Got <= a.Limit
	return a
}

// within is the aim that k's peak stays under so many MB. Where the system
// doesn't tell, nothing is claimed.
func (w *world) within(k key, limit float64) []aim {
	got := w.peak(k)
	if got == 0 {
		return nil
	}
	return []aim{{Text: fmt.Sprintf("under %.0f MB", limit), Limit: limit, Got: got, Met: got < limit}}
}

// aims are what a row is held to.
func (w *world) aims(k key) []aim {
	if len(w.samples[k]) == 0 {
		return nil
	}
	base := key{k.what, k.client, w.o.sizes[0]}
	switch k.what {
	case idle, settled:
		return append(w.within(k, 10), w.times(k, key{what: empty}, 1.5, "1.5 x empty"))
	case deliver:
		return append(w.none(k), w.times(k, key{what: empty}, 3, "3 x empty"))
	case first, later, rescue, refresh:
		if k == base {
			return append(w.within(k, 32), w.made(k))
		}
		return append(w.within(k, 32), w.times(k, base, 1.2, fmt.Sprintf("1.2 x %d MB", w.o.sizes[0]/mb)))
	case whole:
		if k.size < w.o.full { // a few lines say nothing of how fast they are read
			return w.within(k, 32)
		}
		return append(w.within(k, 32), w.times(k, key{countNL, k.client, k.size}, 10, "10 x wc -l"))
	case plan:
		got := w.typical(k)
		return []aim{{Text: "under 500 ms", Limit: 500, Got: round(got), Met: got < 500, Least: round(w.least(k))}}
	}
	return nil
}

// made is the aim of a program that makes a packet: ten times the empty program,
// its syncs, and one git status. A sync is half of a durable small-file write,
// which has two, one after the other.
func (w *world) made(k key) aim {
	n, counted := w.syncs[k]
	if !counted {
		n = 10
	}
	limit := func(of func(key) float64) float64 {
		return 10*of(key{what: empty}) + float64(n)/2*of(key{what: small}) + of(key{what: status})
	}
	a := aim{
		Text:  fmt.Sprintf("10 x empty + %d syncs + git = %.1f ms", n, limit(w.typical)),
		Limit: 1, Got: round(w.typical(k) / limit(w.typical)), Least: round(w.least(k) / limit(w.least)),
	}
	a.Met = a.Got <= 1
	return a
}

// none is the aim of no sync, where they were counted.
func (w *world) none(k key) []aim {
	n, counted := w.syncs[k]
	if !counted {
		return nil
	}
	return []aim{{Text: "no sync", Got: float64(n), Met: n == 0}}
}

// burstAims compares hooks at once with the same hooks one after the other.
func (w *world) burstAims(inTurn, atOnce key, limit time.Duration) []aim {
	runs := w.samples[atOnce]
	if len(runs) == 0 {
		return nil
	}
	var slowest time.Duration
	for _, r := range runs {
		for _, one := range r.Each {
			slowest = max(slowest, one.Wall)
		}
	}
	return []aim{
		w.times(atOnce, inTurn, 1.3, fmt.Sprintf("1.3 x %d single runs", len(runs[0].Each))),
		{Text: fmt.Sprintf("each under %.0f ms", ms(limit)), Limit: ms(limit), Got: round(ms(slowest)), Met: slowest < limit},
	}
}
