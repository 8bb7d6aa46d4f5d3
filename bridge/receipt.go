package bridge

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
)

// Receipt is one line of receipts/<day>.jsonl: what one run of a hook did and
// saw. Prompts and texts of a transcript never stand in it.
type Receipt struct {
	Time      time.Time     `json:"time"`
	Version   string        `json:"version"` // of reseat
	Client    client.Client `json:"client,omitempty"`
	ClientVer string        `json:"client_version,omitempty"`
	Event     string        `json:"event,omitempty"`
	Source    string        `json:"source,omitempty"`
	Trigger   string        `json:"trigger,omitempty"`
	Mechanism string        `json:"mechanism,omitempty"`
	Session   string        `json:"session,omitempty"`
	Seat      string        `json:"seat,omitempty"`
	Hearsay   string        `json:"hearsay,omitempty"` // a seat that a variable named and our state doesn't
	Decision  Decision      `json:"decision"`
	Reason    string        `json:"reason,omitempty"`
	ID        string        `json:"compaction,omitempty"`
	Error     string        `json:"error,omitempty"`
	Millis    float64       `json:"ms"`
}

// maxReceipt bounds a receipt's line, in bytes: a line of up to a page is
// written whole beside parallel writers.
const maxReceipt = 3 << 10

// NewReceipt says what o was the outcome of.
func NewReceipt(e hooks.Event, o Outcome) Receipt {
	r := Receipt{
		Client: e.Client, Event: e.Name, Source: e.Source, Trigger: e.Trigger, Session: clip(e.SessionID, 200),
		Decision: o.Decision, Reason: clip(o.Reason, 300), ID: o.ID,
	}
	if o.Err != nil {
		r.Error = clip(o.Err.Error(), 1000)
	}
	return r
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}

// line is the receipt as JSON. It is written out by hand because every prompt
// pays for it: reflection, with what it allocates for its first use of a type,
// costs as much as the rest of a hook that has nothing to do.
func (r *Receipt) line() []byte {
	b := make([]byte, 0, 512)
	b = append(b, `{"time":"`...)
	b = r.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, '"')
	text := func(key, value string, always bool) {
		if value == "" && !always {
			return
		}
		b = append(append(append(b, `,"`...), key...), `":`...)
		b = hooks.AppendString(b, value)
	}
	text("version", r.Version, true)
	text("client", string(r.Client), false)
	text("client_version", r.ClientVer, false)
	text("event", r.Event, false)
	text("source", r.Source, false)
	text("trigger", r.Trigger, false)
	text("mechanism", r.Mechanism, false)
	text("session", r.Session, false)
	text("seat", r.Seat, false)
	text("hearsay", r.Hearsay, false)
	text("decision", string(r.Decision), true)
	text("reason", r.Reason, false)
	text("compaction", r.ID, false)
	text("error", r.Error, false)
	b = append(b, `,"ms":`...)
	b = strconv.AppendFloat(b, r.Millis, 'f', -1, 64)
	return append(b, '}')
}

// Keep appends the receipt to the day's file in one write.
func (b *Bridge) Keep(r Receipt) error {
	r.Time = r.Time.UTC() // as the file's name; the machine's own zone would be a file to read
	line := r.line()
	if len(line) > maxReceipt {
		r.Reason, r.Error, r.Session = clip(r.Reason, 100), clip(r.Error, 100), clip(r.Session, 64)
		line = r.line()
	}
	path := filepath.Join(b.Home.Receipts(), r.Time.Format(time.DateOnly)+".jsonl")
	line = append(line, '\n')
	err := b.disk.append(path, line)
	if os.IsNotExist(err) {
		if err := b.Home.Open(); err != nil {
			return err
		}
		return b.disk.append(path, line)
	}
	return err
}
