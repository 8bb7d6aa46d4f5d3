package packet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// Format is the version line of continuity.json. A version knows its own format
// only, every key of it, and no other key.
const Format = "reseat-continuity 1"

// Continuity is continuity.json: what a successor needs and the v0 summary has
// no place for. Each item says where it stands in the transcript. Lists are
// oldest first and never null.
type Continuity struct {
	Format      string     `json:"format"`
	ID          string     `json:"id"` // of the compaction, "" for a packet made by hand
	GeneratedAt time.Time  `json:"generated_at"`
	Generator   string     `json:"generator_version"`
	Mechanism   string     `json:"mechanism"`
	Trigger     string     `json:"trigger"`      // "manual", "auto" or ""
	Instruction Text       `json:"instructions"` // a person's own words to the compaction
	Session     Session    `json:"session"`
	Carried     *Carried   `json:"carried"` // the packet before that items were carried over from, null for none
	Work        Work       `json:"current_work"`
	Intent      *Intent    `json:"intent"`   // null where none was ever declared
	Opening     []Words    `json:"opening"`  // the person's own first requests
	Requests    []Words    `json:"requests"` // the person's own latest requests
	Plan        *Plan      `json:"plan"`     // null where there is none
	Proposal    *Proposal  `json:"proposal"` // null where plan mode put none forward
	OpenWork    []OpenWork `json:"open_work"`
	Files       Files      `json:"files"`
	Commands    []Command  `json:"commands"`
	Git         *Git       `json:"git"` // null where it wasn't looked at
	Memory      []Surface  `json:"memory"`
	Boundary    *Boundary  `json:"boundary"` // the compaction before this one, null for none
	Boundaries  int        `json:"boundaries_read"`
	Reach       Reach      `json:"reach"`
	Declared    Declared   `json:"declared"`
	Caveats     []string   `json:"caveats"`
	Undeclared  []string   `json:"undeclared"` // in words: what nobody declared, and what stands in its place
	Omitted     Omitted    `json:"omitted"`
	Redaction   Redaction  `json:"redaction"`
	Acceptance  []Point    `json:"acceptance"`
	Checksums   []Sum      `json:"checksums"` // of every other file of the packet, by name
}

// Text is a text and how many of its bytes were left out.
type Text struct {
	Text string `json:"text"`
	Cut  int64  `json:"cut"`
}

// Session is who the packet is about.
type Session struct {
	Client         string    `json:"client"` // "claude-code" or "codex"
	ID             string    `json:"id"`     // native
	Seat           string    `json:"seat"`   // "" for an unnamed one
	Transcript     string    `json:"transcript"`
	CWD            string    `json:"cwd"`
	RootID         string    `json:"root_id"`
	ForkedFrom     string    `json:"forked_from"`
	Subagent       bool      `json:"subagent"`
	Version        string    `json:"client_version"`
	Model          string    `json:"model"`
	PermissionMode string    `json:"permission_mode"`
	Started        time.Time `json:"started,omitzero"`
}

// ModeCompares reports whether the permission mode is in the words that the
// client's hooks say too. Codex has two sets: its transcript says "never", its
// hooks say "bypassPermissions", also in plan mode (0.133.0 to 0.171.0).
func (s Session) ModeCompares() bool { return s.Client == client.Claude.PacketName() }

// Source says where an item stands: byte offset, line (0 where lines before it
// weren't counted), the record's own id and time. For a carried item it is the
// place in the transcript of the session that Carried names.
type Source struct {
	transcript.Position
	Carried *Carried `json:"carried,omitempty"`
}

// Carried marks an item that isn't from this packet's own reading but from a
// packet before it.
type Carried struct {
	From        string    `json:"from"`    // id of the packet that first held the item
	Session     string    `json:"session"` // its session
	GeneratedAt time.Time `json:"generated_at"`
	Times       int       `json:"times"` // packets since
	Fork        bool      `json:"fork"`  // carried from the session that this one was forked from
}

// Work is what is being done, in one line.
type Work struct {
	Text   string `json:"text"`
	Origin string `json:"origin"` // "declared", "plan", "request" or "unknown"
	Source Source `json:"source"`
}

// Intent is what the work is for, as declared.
type Intent struct {
	Text    string   `json:"text"`
	Carried *Carried `json:"carried,omitempty"` // declared when the packet before was made, not now
}

// Words are a person's own words.
type Words struct {
	Text   string `json:"text"`
	Cut    int64  `json:"cut"` // bytes left out
	Images int    `json:"images"`
	Source Source `json:"source"`
}

// Plan is the plan or to-do list as it stood.
type Plan struct {
	Tool   string     `json:"tool"` // "TodoWrite", "Task tools", "update_plan"
	Note   string     `json:"note"`
	Items  []PlanItem `json:"items"`
	Source Source     `json:"source"`
}

// PlanItem is one line of a plan.
type PlanItem struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Status string `json:"status"`
	Source Source `json:"source"`
}

// Proposal is the plan that an agent in plan mode put forward as prose.
type Proposal struct {
	Text     string `json:"text"`
	Cut      int64  `json:"cut"`
	File     string `json:"file"` // where the client keeps it, "" where it doesn't say
	Answered bool   `json:"answered"`
	Approved bool   `json:"approved"`
	Source   Source `json:"source"`
}

// OpenWork is work that was started and whose result wasn't seen.
type OpenWork struct {
	Kind        string `json:"kind"` // "subagent", "background"
	CallID      string `json:"call_id"`
	TaskID      string `json:"task_id"`
	Description string `json:"description"`
	Source      Source `json:"source"`
}

// Files are the paths that the session touched.
type Files struct {
	Edited []File `json:"edited"` // the first and the latest
	Read   []File `json:"read"`   // read or mentioned only, most used first
}

// File is one touched path. Counts are lower bounds where not all of the
// transcript was read.
type File struct {
	Path     string `json:"path"`
	Edits    int    `json:"edits"`
	Reads    int    `json:"reads"`
	Mentions int    `json:"mentions"`
	Deleted  bool   `json:"deleted"`
	First    Source `json:"first"`
	Last     Source `json:"last"`
}

func (f File) touches() int { return f.Edits + f.Reads + f.Mentions }

// Command is a shell command with what became of it.
type Command struct {
	Text     string `json:"text"`
	CallID   string `json:"call_id"`
	Test     bool   `json:"test"`
	Done     bool   `json:"done"`
	ExitCode *int   `json:"exit_code"` // null where the transcript doesn't tell
	Failed   bool   `json:"failed"`
	Output   string `json:"output"` // its end
	Source   Source `json:"source"`
	Result   Source `json:"result"`
}

// Git is where the repository stood.
type Git struct {
	Root      string   `json:"root"`
	Branch    string   `json:"branch"`
	Head      string   `json:"head"`
	Detached  bool     `json:"detached"`
	Operation string   `json:"operation"`
	Listed    bool     `json:"listed"` // changed was looked at
	Changed   []Change `json:"changed"`
	More      int      `json:"more"` // changed files that aren't listed
	Note      string   `json:"note"`
}

// Change is a path that differs from the head, with git's two letters.
type Change struct {
	Path   string `json:"path"`
	Status string `json:"status"`
}

// Boundary is the record of an earlier compaction.
type Boundary struct {
	Trigger   string `json:"trigger"`
	PreTokens int64  `json:"pre_tokens"`
	Source    Source `json:"source"`
}

// Reach is up to where the packet goes.
type Reach struct {
	transcript.Reach
	From   int64 `json:"from"`  // where the reading began, 0 for the whole file
	Lines  int64 `json:"lines"` // read
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window"` // 0 where the transcript doesn't tell
}

// Omitted counts what was left out, by kind.
type Omitted struct {
	BytesBefore   int64 `json:"bytes_before"` // between the head and the tail of the transcript
	Messages      int64 `json:"messages"`     // beyond the bound of 120
	MessageBytes  int64 `json:"message_bytes"`
	FileLimit     int64 `json:"file_limit_messages"` // messages beyond a file's limit
	Reasoning     int64 `json:"reasoning"`
	ToolOutputs   int64 `json:"tool_outputs"`
	FunctionCalls int64 `json:"function_calls"`
	Images        int64 `json:"images"`
	Sidechain     int64 `json:"sidechain"`
	Meta          int64 `json:"meta"`
	Summaries     int64 `json:"summaries"`
	Malformed     int64 `json:"malformed"`
	Oversize      int64 `json:"oversize"`
	Duplicates    int64 `json:"duplicates"`
	Unknown       int64 `json:"unknown"`
	OffChain      int64 `json:"off_chain"`
	Requests      int64 `json:"requests"`
	PlanItems     int64 `json:"plan_items"`
	OpenWork      int64 `json:"open_work"`
	Files         int64 `json:"files"`
	Commands      int64 `json:"commands"`
	ItemBytes     int64 `json:"item_bytes"` // cut from items of this file
}

// Redaction is what was taken out, and by which rules.
type Redaction struct {
	Policy     string   `json:"policy"`
	Secrets    int      `json:"secrets"`   // replaced, all files together
	Additions  []string `json:"additions"` // classes beyond the policy
	Exemptions []string `json:"exemptions"`
}

// Point is one of the six points that a successor's restoration is accepted by.
type Point struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Sum is a file's length and hash.
type Sum struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// acceptance is the six points, in order.
func acceptance() []Point {
	return []Point{
		{"identity", "The live identity was asked for and compared with the packet's target; the live one counts."},
		{"guidance", "Workspace root, default repo and role guidance were resolved and read."},
		{"depth", "The bounded transcript and the touched files were read, and how deep is said honestly."},
		{"work", "Current work and next owner were restated."},
		{"limits", "Caveats and authority boundaries were restated before anything was done."},
		{"conflicts", "Sources that disagree were named and settled by their rank."},
	}
}

// errTrailing is what follows the one JSON document that a file may hold.
var errTrailing = errors.New("something follows the JSON document")

// Encode is the one way to write continuity.json.
func (c *Continuity) Encode() ([]byte, error) {
	copied := *c
	copied.normalise()
	return encode(&copied)
}

// encode writes JSON for people too: indented, HTML left as it is, one newline
// at the end.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// DecodeContinuity reads continuity.json: of this format only, each key known
// and given once.
func DecodeContinuity(data []byte) (*Continuity, error) {
	if !json.Valid(data) {
		return nil, errors.New("not a JSON document")
	}
	if format := formatOf(data); format != Format {
		return nil, fmt.Errorf("format %q, this version knows %q", clip(format, 60), Format)
	}
	if err := uniqueKeys(data); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	c := new(Continuity)
	if err := dec.Decode(c); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	c.normalise()
	return c, nil
}

// normalise makes absent lists empty ones and times UTC, so that the same
// content has the same bytes.
func (c *Continuity) normalise() {
	c.Opening, c.Requests = list(c.Opening), list(c.Requests)
	c.OpenWork, c.Commands, c.Memory = list(c.OpenWork), list(c.Commands), list(c.Memory)
	c.Files.Edited, c.Files.Read = list(c.Files.Edited), list(c.Files.Read)
	c.Caveats, c.Undeclared, c.Acceptance, c.Checksums = list(c.Caveats), list(c.Undeclared), list(c.Acceptance), list(c.Checksums)
	c.Redaction.Additions, c.Redaction.Exemptions = list(c.Redaction.Additions), list(c.Redaction.Exemptions)
	c.Declared.normalise()
	if c.Plan != nil && c.Plan.Items == nil {
		plan := *c.Plan
		plan.Items = []PlanItem{}
		c.Plan = &plan
	}
	if c.Git != nil && c.Git.Changed == nil {
		git := *c.Git
		git.Changed = []Change{}
		c.Git = &git
	}
}

func (d *Declared) normalise() {
	d.Caveats = list(d.Caveats)
	p := &d.Pointers
	p.Queue, p.Progress, p.FieldNotes, p.Artifacts = list(p.Queue), list(p.Progress), list(p.FieldNotes), list(p.Artifacts)
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}
