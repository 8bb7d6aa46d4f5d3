// Package transcripts writes transcripts of any size, in the record shapes of
// the real clients, for tests and benchmarks: the same Spec, the same bytes.
//
// No line is a copy of a real one and no byte is a hole. What a reader is to
// find again are nonces, words that stand nowhere else, and Planted names them.
// The package reads nothing and knows no reader.
package transcripts

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
)

// Session ids of a Spec that names none.
const (
	ClaudeSession = "11111111-1111-4111-8111-111111111111"
	CodexSession  = "019a0000-0000-7000-8000-000000000001"
)

// Spec is a transcript to write.
type Spec struct {
	Client  client.Client
	Size    int64  // in bytes; the transcript is at least as long, and at least the last stretch
	Seed    uint64 // of the whole
	Session string // native id, "" for ClaudeSession or CodexSession
	CWD     string // "" for /home/u/project
}

// Planted is what a Spec's transcript holds, as nonces, and where its last
// stretch begins. The last stretch of work is the same, byte for byte, for all
// sizes of one Client, Seed, Session and CWD.
type Planted struct {
	Bytes int64 // of the transcript
	Last  int64 // bytes of the last stretch, between one and two MiB

	Opening  string    // in the first request, at the head of the transcript
	Buried   string    // in a message before the last stretch, "" where there is none
	Messages []string  // one in each message of the last stretch, oldest first; more than 120
	Requests []string  // those of Messages that a person typed
	Plan     [3]string // the plan's items: done, in progress, not begun
	Agents   [2]string // descriptions of the two subagents that are still at work
	Edited   string    // in the name of a file that was edited
	Failed   string    // in the command of the test that failed
	Output   string    // in what that test printed
}

// lastStretch is how long the last stretch is at least, and messagesAtLeast how
// many messages stand in it.
const (
	lastStretch     = 1 << 20
	messagesAtLeast = 150
)

// Write writes the transcript.
func Write(w io.Writer, s Spec) (*Planted, error) {
	if s.CWD == "" {
		s.CWD = "/home/u/project"
	}
	if s.Session == "" {
		s.Session = ClaudeSession
		if s.Client == client.Codex {
			s.Session = CodexSession
		}
	}
	planted := &Planted{}
	var last bytes.Buffer
	end := newGenerator(&last, s, 1)
	end.n, end.last, end.planted = 1_000_000, bridge, planted
	end.at = end.at.Add(300 * 24 * time.Hour)
	for turn := 0; end.size < lastStretch || len(planted.Messages) < messagesAtLeast; turn++ {
		end.turn(turn)
	}
	end.failedTest()

	out := bufio.NewWriterSize(w, 1<<20)
	body := newGenerator(out, s, 2)
	body.head()
	planted.Opening = body.opening
	for body.size < s.Size-int64(last.Len()) {
		body.turn(-1)
	}
	if body.n > 6 {
		planted.Buried = body.buried
	}
	body.bridge()
	if body.err == nil {
		_, body.err = out.Write(last.Bytes())
	}
	if body.err == nil {
		body.err = out.Flush()
	}
	planted.Last = int64(last.Len())
	planted.Bytes = body.size + planted.Last
	return planted, body.err
}

// Create writes the transcript to a new file.
func Create(path string, s Spec) (*Planted, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	planted, err := Write(f, s)
	if after := f.Close(); err == nil {
		err = after
	}
	return planted, err
}

// generator writes one stretch of a transcript.
type generator struct {
	Spec
	w    io.Writer
	rnd  *rand.Rand
	text *words
	at   time.Time
	size int64
	err  error

	n    int    // turns
	last string // Claude: uuid of the last record

	planted *Planted // of the last stretch, nil before it
	opening string   // nonce of the first request
	buried  string   // nonce of the third turn before this one, more or less
}

func newGenerator(w io.Writer, s Spec, part uint64) *generator {
	rnd := rand.New(rand.NewPCG(s.Seed, part))
	return &generator{
		Spec: s, w: w, rnd: rnd, text: newWords(rnd),
		at: time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC),
	}
}

func (g *generator) line(format string, args ...any) {
	if g.err != nil {
		return
	}
	n, err := fmt.Fprintf(g.w, format+"\n", args...)
	g.size += int64(n)
	g.err = err
}

func (g *generator) id() string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", g.rnd.Uint32(), g.rnd.IntN(1<<16), g.rnd.IntN(1<<12), g.rnd.IntN(1<<12), g.rnd.Int64N(1<<48))
}

// stamp is the next record's time. Records are half a second apart.
func (g *generator) stamp() string {
	g.at = g.at.Add(500 * time.Millisecond)
	return g.at.Format("2006-01-02T15:04:05.000Z")
}

// nonce is a word that stands nowhere else in the transcript.
func (g *generator) nonce() string { return g.text.nonce() }

// message makes the words of a message with a nonce in it.
func (g *generator) message(typed bool, n int) string {
	nonce := g.nonce()
	switch {
	case g.planted != nil:
		g.planted.Messages = append(g.planted.Messages, nonce)
		if typed {
			g.planted.Requests = append(g.planted.Requests, nonce)
		}
	case g.opening == "":
		g.opening = nonce
	case g.n%4 == 0:
		g.buried = nonce
	}
	who := "answer "
	if typed {
		who = "request "
	}
	return who + nonce + ": " + g.text.some(n)
}

// output is how long a tool's result is: 3.5 kB in the mean, one in a hundred up
// to 400 kB; in the last stretch, which is short turns, half a kB.
func (g *generator) output() int {
	if g.planted != nil {
		return int(g.rnd.ExpFloat64() * 500)
	}
	if g.rnd.IntN(100) == 0 {
		return 50_000 + g.rnd.IntN(350_000)
	}
	return int(g.rnd.ExpFloat64() * 3500)
}

// head writes what a transcript begins with and its first turn.
func (g *generator) head() {
	if g.Client == client.Codex {
		g.codexMeta()
	}
	g.turn(-1)
}

// turn writes one turn. In the last stretch the first turns also leave a plan,
// an edited file and two subagents at work.
func (g *generator) turn(ofLast int) {
	g.n++
	if g.Client == client.Codex {
		g.codexTurn(ofLast)
		return
	}
	g.claudeTurn(ofLast)
}

// Turns of the last stretch that do more than others.
const (
	planTurn   = 2
	editTurn   = 3
	agentsTurn = 4
)

// bridge ends the part before the last stretch with a record that the last
// stretch goes on from.
func (g *generator) bridge() {
	if g.Client == client.Claude {
		g.claudeBridge()
	}
}

func (g *generator) failedTest() {
	g.planted.Failed, g.planted.Output = g.nonce(), g.nonce()
	if g.Client == client.Codex {
		g.codexFailedTest()
		return
	}
	g.claudeFailedTest()
}

// plan names the plan's items.
func (g *generator) plan() [3]string {
	g.planted.Plan = [3]string{g.nonce(), g.nonce(), g.nonce()}
	return g.planted.Plan
}

func (g *generator) agents() [2]string {
	g.planted.Agents = [2]string{g.nonce(), g.nonce()}
	return g.planted.Agents
}

// edited names the file that the last stretch edits.
func (g *generator) edited() string {
	g.planted.Edited = g.nonce()
	return g.CWD + "/" + g.planted.Edited + ".go"
}
