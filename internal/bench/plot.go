package main

import (
	"bytes"
	"fmt"
	"math"

	"github.com/reseat-dev/reseat/internal/client"
)

// plotLine is the cost of one thing against the transcript's size.
type plotLine struct {
	label  string
	colour string
	dashed bool
	points [][2]float64 // MB, ms
}

// plotLines are the rows that have sizes, and the empty program across.
func (w *world) plotLines() []plotLine {
	var all []plotLine
	for _, one := range []struct{ what, label, colour string }{
		{whole, "packet write, whole", "#8c564b"},
		{countNL, "wc -l", "#7f7f7f"},
		{refresh, "refresh", "#9467bd"},
		{rescue, "rescue", "#d62728"},
		{later, "precompact, later", "#ff7f0e"},
		{first, "precompact, first", "#1f77b4"},
		{deliver, "delivering", "#2ca02c"},
		{settled, "nothing pending", "#17becf"},
	} {
		for _, c := range client.All() {
			line := plotLine{label: one.label + " (" + string(c) + ")", colour: one.colour, dashed: c == client.Codex}
			for _, size := range w.o.sizes {
				if v := w.typical(key{one.what, c, size}); v > 0 {
					line.points = append(line.points, [2]float64{max(1, float64(size)/mb), v})
				}
			}
			if len(line.points) > 0 {
				all = append(all, line)
			}
		}
	}
	floor := plotLine{label: "an empty Go program", colour: "#000000"}
	for _, size := range w.o.sizes {
		floor.points = append(floor.points, [2]float64{max(1, float64(size)/mb), w.typical(key{what: empty})})
	}
	return append(all, floor)
}

// The plot's frame, in pixels.
const (
	plotWidth, plotHeight = 980, 620
	left, right           = 70, 270
	top, bottom           = 50, 60
)

// axis maps values to pixels, by their logarithms.
type axis struct{ from, to, lo, hi float64 }

func (a axis) at(v float64) float64 {
	return a.lo + (math.Log10(v)-math.Log10(a.from))/(math.Log10(a.to)-math.Log10(a.from))*(a.hi-a.lo)
}

// decades are the powers of ten on the axis.
func (a axis) decades() []float64 {
	var all []float64
	for v := math.Pow(10, math.Ceil(math.Log10(a.from)-1e-9)); v <= a.to*1.0001; v *= 10 {
		all = append(all, v)
	}
	return all
}

// svg draws cost against size, both axes logarithmic.
func (r *results) svg() []byte {
	xs, ys := r.axes()
	var out bytes.Buffer
	put := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`, plotWidth, plotHeight, plotWidth, plotHeight)
	put(`<rect width="%d" height="%d" fill="#ffffff"/>`, plotWidth, plotHeight)
	put(`<text x="%d" y="26" font-size="16">Cost against the size of the transcript (medians; dashed: Codex)</text>`, left)
	for _, v := range ys.decades() {
		put(`<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#dddddd"/>`, left, plotWidth-right, ys.at(v), ys.at(v))
		put(`<text x="%d" y="%.1f" text-anchor="end">%v</text>`, left-8, ys.at(v)+4, v)
	}
	for _, mb := range r.Sizes {
		x := xs.at(max(1, float64(mb)))
		put(`<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#dddddd"/>`, x, x, top, plotHeight-bottom)
		put(`<text x="%.1f" y="%d" text-anchor="middle">%d</text>`, x, plotHeight-bottom+20, mb)
	}
	put(`<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#888888"/>`, left, top, plotWidth-left-right, plotHeight-top-bottom)
	put(`<text x="%d" y="%d" text-anchor="middle">transcript in MB</text>`, (left+plotWidth-right)/2, plotHeight-15)
	put(`<text transform="translate(20 %d) rotate(-90)" text-anchor="middle">milliseconds</text>`, (top+plotHeight-bottom)/2)
	for i, line := range r.plot {
		dash := ""
		if line.dashed {
			dash = ` stroke-dasharray="6 4"`
		}
		out.WriteString(`<polyline fill="none" stroke-width="2" stroke="` + line.colour + `"` + dash + ` points="`)
		for _, p := range line.points {
			fmt.Fprintf(&out, "%.1f,%.1f ", xs.at(p[0]), ys.at(p[1]))
		}
		put(`"/>`)
		for _, p := range line.points {
			put(`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, xs.at(p[0]), ys.at(p[1]), line.colour)
		}
		y := top + 14 + 22*i
		put(`<line x1="%d" x2="%d" y1="%d" y2="%d" stroke-width="2" stroke="%s"%s/>`, plotWidth-right+16, plotWidth-right+48, y-4, y-4, line.colour, dash)
		put(`<text x="%d" y="%d">%s</text>`, plotWidth-right+56, y, line.label)
	}
	put(`</svg>`)
	return out.Bytes()
}

// axes span what is drawn, in whole decades upwards.
func (r *results) axes() (xs, ys axis) {
	most, least := 1.0, math.Inf(1)
	for _, line := range r.plot {
		for _, p := range line.points {
			most, least = max(most, p[1]), min(least, p[1])
		}
	}
	largest := 10.0
	for _, mb := range r.Sizes {
		largest = max(largest, float64(mb))
	}
	xs = axis{from: 0.8, to: largest * 1.25, lo: left, hi: plotWidth - right}
	ys = axis{
		from: math.Pow(10, math.Floor(math.Log10(least))), to: math.Pow(10, math.Ceil(math.Log10(most))),
		lo: plotHeight - bottom, hi: top,
	}
	return xs, ys
}
