package compact

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// barWidth is how many characters a seat's bar has.
const barWidth = 10

// WriteTable shows a plan to a person: candidates in recommended order, then
// what is blocked, then what is skipped.
func (p Plan) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "Read-only plan: nothing is compacted by it. Threshold: %s tokens, or %v %% where the window isn't known.\n",
		grouped(p.Policy.ThresholdTokens), p.Policy.ThresholdPercent)
	if p.Summary.TotalSeats == 0 {
		fmt.Fprintln(w, "No seat is known and no session is live.")
	} else {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "SEAT\tCLIENT\tUSED\tWINDOW\tFULL\tFRESH\tSTATE\tVERDICT\tREASON")
		for _, e := range slices.Concat(p.Candidates, p.Blocked, p.Skipped) {
			fmt.Fprintln(t, strings.Join(e.cells(), "\t"))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(w, "%d seats: %d to compact, %d blocked, %d skipped.\n",
			p.Summary.TotalSeats, p.Summary.CandidateCount, p.Summary.BlockedCount, p.Summary.SkippedCount)
	}
	for _, c := range p.Caveats {
		fmt.Fprintf(w, "note: %s\n", c)
	}
	if len(p.Candidates) > 0 {
		fmt.Fprintf(w, "Next: reseat compact %s\n", p.Candidates[0].Session)
	}
	return nil
}

func (e Entry) cells() []string {
	used, window, bar := "unknown", "unknown", ""
	if e.EstimatedUsedTokens != nil {
		used = grouped(*e.EstimatedUsedTokens)
	}
	if e.ContextWindowSize != nil {
		window = grouped(*e.ContextWindowSize)
	}
	if e.UsedPercentage != nil {
		bar = Bar(*e.UsedPercentage)
	}
	verdict := "skip"
	switch e.Status {
	case Candidate:
		verdict = "compact"
	case Held:
		verdict = "blocked"
	}
	return []string{
		e.Session, e.Runtime, used, window, bar, e.ContextFreshness, e.State, verdict,
		strings.ReplaceAll(strings.Join(e.Reasons, ", "), "_", " "),
	}
}

// Bar draws how full something is, with the number behind it.
func Bar(percent float64) string {
	full := int(percent/100*barWidth + 0.5)
	full = max(0, min(barWidth, full))
	return fmt.Sprintf("%s%s %3.0f%%", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), percent)
}

// grouped writes 1234567 as 1,234,567.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
