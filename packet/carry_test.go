package packet

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/packet/transcript"
)

// next is the input of the session's following compaction: n seconds on, with a
// reading that began only behind everything the packet before has read.
func next(before *Continuity, n int) Input {
	in := anInput()
	in.Previous = before
	in.ID = fmt.Sprintf("rs-%04d-00000000", n)
	in.Time = day.Add(time.Duration(n) * time.Minute)
	in.Declared.Intent = ""
	in.Story = &transcript.Story{
		Client: in.Client, Identity: in.Story.Identity, From: int64(n) * 100_000,
		Reach: transcript.Reach{Bytes: int64(n)*100_000 + 50_000, Last: at(n*100 + 50)},
	}
	return in
}

func paths(files []File) []string {
	var l []string
	for _, f := range files {
		l = append(l, f.Path)
	}
	return l
}

// A second compaction must not lose what the first one kept, nor a tenth.
func TestItemsAreCarriedOverAnyNumberOfCompactions(t *testing.T) {
	c := mustMake(t, anInput()).Continuity
	for n := 1; n <= 10; n++ {
		in := next(c, n)
		in.Story.Files = []transcript.File{{Path: fmt.Sprintf("/new/%d", n), Edits: 1, First: at(n * 100), Last: at(n * 100)}}
		p := mustMake(t, in)
		c = p.Continuity
		if len(c.Opening) != 1 || c.Opening[0].Text == "" || c.Intent == nil || c.Intent.Text != "Customers never lose a basket" ||
			c.Plan == nil || c.Plan.Items[1].Text != "Write the migration" || len(c.OpenWork) != 1 || c.Boundary == nil {
			t.Fatalf("lost after %d: %+v", n, c)
		}
		if !slices.Contains(paths(c.Files.Edited), "/work/shop/basket/old cart.go") || !slices.Contains(paths(c.Files.Edited), "/new/1") || len(c.Files.Edited) != 2+n {
			t.Fatalf("edited files after %d: %v", n, paths(c.Files.Edited))
		}
		for what, source := range map[string]Source{
			"opening": c.Opening[0].Source, "plan": c.Plan.Source, "item": c.Plan.Items[0].Source, "open work": c.OpenWork[0].Source, "file": c.Files.Edited[0].First,
		} {
			if m := source.Carried; m == nil || m.From != "rs-0007-5f3a9c1e" || m.Times != n || m.Session != c.Session.ID || m.Fork {
				t.Errorf("%s after %d: mark %+v", what, n, m)
			}
		}
		if c.Opening[0].Source.Line != 2 || c.Intent.Carried.Times != n || c.Carried.Times != 1 {
			t.Errorf("after %d: place %+v, intent %+v, carried %+v", n, c.Opening[0].Source.Position, c.Intent.Carried, c.Carried)
		}
		if c.Work.Text != "Write the migration" || c.Work.Source.Carried == nil {
			t.Errorf("work after %d: %+v", n, c.Work)
		}
	}
}

func TestNothingIsCarriedFromAnotherSession(t *testing.T) {
	before := mustMake(t, anInput()).Continuity
	in := next(before, 1)
	in.Session, in.Story.Identity.SessionID = "other", "other"
	c := mustMake(t, in).Continuity
	if c.Carried != nil || len(c.Opening)+len(c.OpenWork)+len(c.Files.Edited) > 0 || c.Plan != nil || c.Intent != nil || c.Boundary != nil {
		t.Errorf("carried: %+v", c)
	}
	// The same id of another client is another session.
	in = next(before, 1)
	in.Client = "codex"
	if c := mustMake(t, in).Continuity; c.Carried != nil || len(c.Opening) > 0 {
		t.Errorf("carried from another client: %+v", c)
	}
}

// A fork goes on with its parent's work, but the parent's subagents run there.
func TestAForkCarriesAllButOpenWork(t *testing.T) {
	before := mustMake(t, anInput()).Continuity
	in := next(before, 1)
	in.Session, in.Story.Identity.SessionID, in.Story.Identity.ForkedFrom = "fork", "fork", before.Session.ID
	c := mustMake(t, in).Continuity
	if c.Carried == nil || !c.Carried.Fork || len(c.Opening) != 1 || !c.Opening[0].Source.Carried.Fork || c.Plan == nil || c.Intent == nil || len(c.Files.Edited) != 2 {
		t.Errorf("not carried: %+v", c)
	}
	if len(c.OpenWork) != 0 {
		t.Errorf("open work %+v", c.OpenWork)
	}
	// Still marked when the fork itself is compacted again.
	again := next(c, 2)
	again.Session, again.Story.Identity.SessionID = "fork", "fork"
	if m := mustMake(t, again).Continuity.Opening[0].Source.Carried; m == nil || !m.Fork || m.Times != 2 || m.Session != before.Session.ID {
		t.Errorf("mark %+v", m)
	}
}

func TestADeclaredIntentWinsOverACarriedOne(t *testing.T) {
	in := next(mustMake(t, anInput()).Continuity, 1)
	in.Declared.Intent = "Something newer"
	if c := mustMake(t, in).Continuity; c.Intent.Text != "Something newer" || c.Intent.Carried != nil {
		t.Errorf("got %+v", c.Intent)
	}
}

func TestANewerPlanWins(t *testing.T) {
	before := mustMake(t, anInput()).Continuity
	in := next(before, 1)
	in.Story.Plan = &transcript.Plan{Position: at(120), Source: "TodoWrite", Items: []transcript.PlanItem{{Text: "Only this", Status: "pending"}}}
	if p := mustMake(t, in).Continuity.Plan; len(p.Items) != 1 || p.Source.Carried != nil {
		t.Errorf("got %+v", p)
	}
	// Also an empty one: the agent has cleared its list.
	in.Story.Plan.Items = nil
	if p := mustMake(t, in).Continuity.Plan; len(p.Items) != 0 || p.Source.Carried != nil {
		t.Errorf("got %+v", p)
	}
}

// With one call an item, a reading of the tail sees only the items that changed.
func TestAPlanOfSingleTasksIsMerged(t *testing.T) {
	first := anInput()
	first.Story.Plan = &transcript.Plan{Position: at(50), Source: taskTools, Items: []transcript.PlanItem{
		{ID: "1", Text: "one", Status: "in_progress"}, {ID: "2", Text: "two", Status: "pending"}, {ID: "3", Text: "three", Status: "pending"},
	}}
	in := next(mustMake(t, first).Continuity, 1)
	in.Story.Plan = &transcript.Plan{Position: at(120), Source: taskTools, Items: []transcript.PlanItem{
		{ID: "1", Status: "completed", Position: at(119)}, {ID: "3", Status: "deleted"}, {ID: "4", Text: "four", Status: "pending"},
	}}
	plan := mustMake(t, in).Continuity.Plan
	var got []string
	for _, item := range plan.Items {
		got = append(got, item.ID+" "+item.Text+" "+item.Status)
	}
	if want := []string{"1 one completed", "2 two pending", "4 four pending"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if plan.Items[0].Source.Carried != nil || plan.Items[0].Source.Line != 120 || plan.Items[1].Source.Carried == nil {
		t.Errorf("places %+v", plan.Items)
	}
	// Read whole, the transcript has it all.
	in.Story.From = 0
	if plan := mustMake(t, in).Continuity.Plan; len(plan.Items) != 2 || plan.Items[1].ID != "4" {
		t.Errorf("got %+v", plan.Items)
	}
}

func TestOpenWorkIsDroppedOnceItsEndWasSeen(t *testing.T) {
	before := mustMake(t, anInput()).Continuity // open at byte 55000
	tests := []struct {
		name   string
		change func(*transcript.Story)
		want   int
	}{
		{"its call lies before what was read", func(*transcript.Story) {}, 1},
		{"its call was read and is closed", func(s *transcript.Story) { s.From = 50_000 }, 0},
		{"everything was read", func(s *transcript.Story) { s.From = 0 }, 0},
		{"it is still open", func(s *transcript.Story) {
			s.From = 50_000
			s.Open = []transcript.OpenWork{{Position: at(55), Kind: "subagent", CallID: "toolu_01EXAMPLE"}}
		}, 1},
		{"its result was read", func(s *transcript.Story) { s.Answered = []string{"toolu_01EXAMPLE"} }, 0},
		{"it was said to be over", func(s *transcript.Story) { s.Ended = []string{"toolu_01EXAMPLE"} }, 0},
		{"another one's result was read", func(s *transcript.Story) { s.Answered, s.Ended = []string{"toolu_09EXAMPLE"}, []string{""} }, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := next(before, 1)
			test.change(in.Story)
			if got := mustMake(t, in).Continuity.OpenWork; len(got) != test.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A background task goes on behind its call's result, until it is said to be
// over.
func TestABackgroundTaskStaysOpenBehindItsResult(t *testing.T) {
	first := anInput()
	first.Story.Open = []transcript.OpenWork{{Position: at(55), Kind: "background", CallID: "toolu_01EXAMPLE", TaskID: "b1"}}
	before := mustMake(t, first).Continuity
	in := next(before, 1)
	in.Story.Answered = []string{"toolu_01EXAMPLE"}
	if got := mustMake(t, in).Continuity.OpenWork; len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	in.Story.Ended = []string{"b1"}
	if got := mustMake(t, in).Continuity.OpenWork; len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestAnItemSeenAgainIsNotMarked(t *testing.T) {
	in := next(mustMake(t, anInput()).Continuity, 1)
	in.Story.Opening = []transcript.Message{said(1, "user", "Make the basket keep its goods"), said(9, "user", "and later this")}
	c := mustMake(t, in).Continuity
	if len(c.Opening) != 2 || c.Opening[0].Source.Carried != nil || c.Opening[1].Source.Line != 10 {
		t.Errorf("got %+v", c.Opening)
	}
}

func TestEditsAreCountedOnceAtLeast(t *testing.T) {
	in := next(mustMake(t, anInput()).Continuity, 1)
	in.Story.Files = []transcript.File{
		{Path: "/work/shop/basket/store.go", Edits: 1, First: at(120), Last: at(121)},
		{Path: "/work/shop/basket/old cart.go", Reads: 2, First: at(130), Last: at(130)},
	}
	c := mustMake(t, in).Continuity
	if len(c.Files.Edited) != 2 || len(c.Files.Read) != 0 {
		t.Fatalf("edited %v, read %v", paths(c.Files.Edited), paths(c.Files.Read))
	}
	store := c.Files.Edited[1]
	if store.Edits != 3 || store.First.Line != 6 || store.First.Carried == nil || store.Last.Line != 122 || store.Last.Carried != nil {
		t.Errorf("store %+v", store)
	}
	if cart := c.Files.Edited[0]; cart.Reads != 2 || cart.Edits != 1 || cart.Last.Carried == nil {
		t.Errorf("cart %+v", cart)
	}
}

// Of very many edited files the first and the latest stay.
func TestManyEditedFilesKeepTheFirstAndTheLatest(t *testing.T) {
	in := anInput()
	in.Story.Files = nil
	for i := range 300 {
		in.Story.Files = append(in.Story.Files, transcript.File{Path: fmt.Sprint("/f", i), Edits: 1, First: at(i), Last: at(i)})
	}
	in.Story.Files[100].Last = at(999) // an old one, edited again
	c := mustMake(t, in).Continuity
	got := paths(c.Files.Edited)
	if len(got) != maxEdited || got[0] != "/f0" || got[19] != "/f19" || got[len(got)-1] != "/f299" || !slices.Contains(got, "/f100") || slices.Contains(got, "/f50") || c.Omitted.Files != 100 {
		t.Errorf("%d kept, %d omitted: %v", len(got), c.Omitted.Files, got)
	}
}

// Make leaves what it is given as it was.
func TestMakeDoesNotChangeItsInput(t *testing.T) {
	before := mustMake(t, anInput()).Continuity
	want := string(mustEncode(t, before))
	in := next(before, 1)
	in.Limits = Limits{FileBytes: 1}
	in.Story.Requests = []transcript.Message{said(200, "user", string(make([]byte, 60_000)))}
	mustMake(t, in)
	if got := string(mustEncode(t, before)); got != want {
		t.Errorf("the packet before changed:\n%s", firstDifference([]byte(want), []byte(got)))
	}
}
