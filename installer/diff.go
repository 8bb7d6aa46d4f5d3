package installer

import (
	"fmt"
	"strings"
)

// unified is the difference of two texts, for a person: hunks with three lines
// around, as diff -u writes them. A missing newline at the end is marked. Carriage
// returns are shown as they are.
func unified(path string, before, after []byte, existed, exists bool) string {
	if string(before) == string(after) && existed == exists {
		return ""
	}
	from, to := path, path
	if !existed {
		from = "/dev/null"
	}
	if !exists {
		to = "/dev/null"
	}
	a, b := splitLines(string(before)), splitLines(string(after))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
	for _, h := range hunks(script(a, b), 3) {
		h.write(&out, a, b)
	}
	return out.String()
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// change is a run of lines a[a0:a1] that becomes b[b0:b1].
type change struct{ a0, a1, b0, b1 int }

// script is the list of changes from a to b, by Myers' greedy algorithm. Our
// edits are small; where two texts have little in common it settles for one
// change of everything between the common ends.
func script(a, b []string) []change {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	changes := middle(a[head:len(a)-tail], b[head:len(b)-tail])
	for i := range changes {
		c := &changes[i]
		c.a0, c.a1, c.b0, c.b1 = c.a0+head, c.a1+head, c.b0+head, c.b1+head
	}
	return changes
}

// maxEdits bounds the work of middle: lines that differ.
const maxEdits = 1000

func middle(a, b []string) []change {
	n, m := len(a), len(b)
	if n == 0 && m == 0 {
		return nil
	}
	limit := min(n+m, maxEdits)
	reach := map[int]int{1: 0} // furthest line of a on each diagonal
	var trace []map[int]int
	for d := 0; d <= limit; d++ {
		row := map[int]int{}
		for k := -d; k <= d; k += 2 {
			x := reach[k-1] + 1
			if k == -d || k != d && reach[k-1] < reach[k+1] {
				x = reach[k+1]
			}
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			row[k] = x
			if x >= n && y >= m {
				return backtrack(append(trace, row), n, m)
			}
		}
		trace = append(trace, row)
		reach = row
	}
	return []change{{0, n, 0, m}}
}

// backtrack walks the furthest points back to the start and collects the
// changes, neighbours joined.
func backtrack(trace []map[int]int, x, y int) []change {
	var changes []change
	add := func(c change) {
		if len(changes) > 0 {
			if last := &changes[len(changes)-1]; last.a0 == c.a1 && last.b0 == c.b1 {
				last.a0, last.b0 = c.a0, c.b0
				return
			}
		}
		changes = append(changes, c)
	}
	for d := len(trace) - 1; d > 0; d-- {
		before := trace[d-1]
		k := x - y
		down := k == -d
		if !down && k != d {
			down = before[k-1] < before[k+1]
		}
		if down {
			px := before[k+1]
			py := px - (k + 1)
			add(change{px, px, py, py + 1})
			x, y = px, py
		} else {
			px := before[k-1]
			py := px - (k - 1)
			add(change{px, px + 1, py, py})
			x, y = px, py
		}
	}
	for i, j := 0, len(changes)-1; i < j; i, j = i+1, j-1 {
		changes[i], changes[j] = changes[j], changes[i]
	}
	return changes
}

// hunk is changes that are shown together, with lines around.
type hunk struct {
	change
	inner []change
}

func hunks(changes []change, around int) []hunk {
	var list []hunk
	for _, c := range changes {
		if len(list) > 0 && c.a0-list[len(list)-1].a1 <= 2*around {
			h := &list[len(list)-1]
			h.a1, h.b1 = c.a1, c.b1
			h.inner = append(h.inner, c)
			continue
		}
		list = append(list, hunk{c, []change{c}})
	}
	for i := range list {
		h := &list[i]
		before := min(around, h.a0)
		h.a0, h.b0 = h.a0-before, h.b0-before
		h.a1, h.b1 = h.a1+around, h.b1+around // clipped when written
	}
	return list
}

func (h hunk) write(out *strings.Builder, a, b []string) {
	over := max(0, h.a1-len(a))
	h.a1, h.b1 = h.a1-over, h.b1-over
	fmt.Fprintf(out, "@@ -%s +%s @@\n", lineRange(h.a0, h.a1), lineRange(h.b0, h.b1))
	at := h.a0
	for _, c := range h.inner {
		writeLines(out, ' ', a[at:c.a0])
		writeLines(out, '-', a[c.a0:c.a1])
		writeLines(out, '+', b[c.b0:c.b1])
		at = c.a1
	}
	writeLines(out, ' ', a[at:h.a1])
}

func lineRange(from, to int) string {
	if to == from {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
