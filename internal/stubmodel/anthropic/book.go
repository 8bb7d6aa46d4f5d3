package anthropic

import (
	"strings"
	"sync"
	"time"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// Book is a script made of turns. A turn is known by a text in the person's
// prompt; its replies answer that turn's requests one after the other: the
// prompt, the request with the first tool's result, and so on. A turn goes on
// through tool results, retries and a compaction in its middle, until another
// turn's text is the last thing said.
//
// The methods that add to a Book return it; they may be called while it
// answers. Sessions that share a stub go through a Book independently.
type Book struct {
	mu       sync.Mutex
	turns    []turn
	places   map[string]*place
	summary  stubmodel.Reply
	subagent []stubmodel.Reply
	rest     stubmodel.Reply
}

type turn struct {
	text    string
	replies []stubmodel.Reply
}

// place is where a conversation is in the book.
type place struct {
	turn int // index into turns; -1: none was begun
	next int // index of the next reply
}

// NewBook makes a book without turns: it answers "ok", a summary of one
// sentence, and lets a subagent say "subagent done".
func NewBook() *Book {
	return &Book{
		places:   map[string]*place{},
		summary:  stubmodel.Text("<analysis>Stub.</analysis>\n<summary>A stub's summary of the conversation.</summary>").After(summaryTime),
		subagent: []stubmodel.Reply{stubmodel.Text("subagent done")},
		rest:     stubmodel.Text("ok"),
	}
}

// summaryTime is what a summary takes: a real model needs many seconds, in which
// a client that writes its transcript behind its turns (2.1.197 does) writes
// what is still missing. Nothing of a real session happens at once after it.
const summaryTime = 500 * time.Millisecond

// Turn adds a turn, known by text. Where two texts fit a prompt, the turn
// added last is meant.
func (b *Book) Turn(text string, replies ...stubmodel.Reply) *Book {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turns = append(b.turns, turn{text, replies})
	return b
}

// Subagents sets the replies that each session's subagents get, one after the
// other; the last one stays.
func (b *Book) Subagents(replies ...stubmodel.Reply) *Book {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subagent = replies
	return b
}

// Summaries sets what a request for a summary gets.
func (b *Book) Summaries(reply stubmodel.Reply) *Book {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.summary = reply
	return b
}

// Otherwise sets what a prompt of no turn gets, and a turn whose replies are
// used up.
func (b *Book) Otherwise(reply stubmodel.Reply) *Book {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = reply
	return b
}

// Script is the book as a script.
func (b *Book) Script(req Request) stubmodel.Reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch req.Kind {
	case Summary:
		return b.summary
	case Subagent:
		return b.nextOfSubagent(req)
	}
	at := b.placeOf(req.SessionID)
	if i := b.turnFor(req.Prompt()); i >= 0 && i != at.turn {
		*at = place{turn: i}
	}
	if at.turn < 0 || at.next >= len(b.turns[at.turn].replies) {
		return b.rest
	}
	at.next++
	return b.turns[at.turn].replies[at.next-1]
}

func (b *Book) nextOfSubagent(req Request) stubmodel.Reply {
	if len(b.subagent) == 0 {
		return b.rest
	}
	at := b.placeOf("subagents of " + req.SessionID)
	reply := b.subagent[min(at.next, len(b.subagent)-1)]
	at.next++
	return reply
}

func (b *Book) placeOf(conversation string) *place {
	if b.places[conversation] == nil {
		b.places[conversation] = &place{turn: -1}
	}
	return b.places[conversation]
}

func (b *Book) turnFor(prompt string) int {
	for i := len(b.turns) - 1; i >= 0; i-- {
		if prompt != "" && strings.Contains(prompt, b.turns[i].text) {
			return i
		}
	}
	return -1
}
