package packet

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reseat-dev/reseat/internal/sha256"
)

// Severity of a finding.
const (
	Error   = "error"
	Warning = "warning"
)

// Finding is one thing that is wrong with a packet.
type Finding struct {
	Field    string `json:"field"` // a JSON pointer into the summary, a file's name, or "continuity.json" with a pointer behind "#"
	Value    string `json:"value"` // as JSON, shortened; "" where there is none
	Rule     string `json:"rule"`  // in words
	Severity string `json:"severity"`
}

// Report is what Validate found.
type Report struct {
	Valid    bool      `json:"valid"` // no error; warnings don't count
	Findings []Finding `json:"errors"`
	Peer     bool      `json:"-"` // made by another generator, without continuity.json
}

// Validate holds the packet in dir against the contract: the v0 schema, parity
// of full_transcript and its file both ways, paths that stay inside, counts and
// checksums against the files, secrets that were left, and, in a packet of ours,
// continuity.json. A packet of a peer is valid as what it is.
//
// red finds the secrets; nil leaves that check out, with a warning.
func Validate(dir string, red Redactor) Report {
	c := &checker{red: red}
	c.run(dir)
	r := Report{Valid: true, Findings: list(c.findings), Peer: c.peer}
	for _, f := range r.Findings {
		r.Valid = r.Valid && f.Severity != Error
	}
	return r
}

// checker collects findings about one packet.
type checker struct {
	folder   folder
	red      Redactor
	findings []Finding

	raw        map[string]any // the summary, nil where it can't be read
	summary    *Summary       // nil where raw breaks the contract
	continuity *Continuity
	peer       bool
}

func (c *checker) add(at string, v any, rule string) { c.find(at, v, rule, Error) }

func (c *checker) find(at string, v any, rule, severity string) {
	// A broken optional part leaves a usable packet, as in the contract.
	if severity == Error && strings.HasPrefix(at, "/full_transcript/") && rule != escapes {
		severity = Warning
	}
	c.findings = append(c.findings, Finding{Field: at, Value: brief(v), Rule: rule, Severity: severity})
}

// brief is a value as short JSON.
func brief(v any) string {
	if v == nil {
		return ""
	}
	data, err := json.Marshal(v)
	if err != nil {
		return clip(line(fmt.Sprint(v)), 80)
	}
	return clip(line(string(data)), 80)
}

func (c *checker) run(dir string) {
	f, err := openFolder(dir)
	if err != nil {
		c.add("", dir, "must be a readable folder")
		return
	}
	c.folder = f

	if data, ok := c.readable(SummaryFile); ok {
		c.readSummary(data)
	}
	c.readContinuity()
	for _, name := range []string{InstructionsFile, LatestFile, TouchedFile} {
		c.present(name)
	}
	if c.raw != nil {
		c.paths()
		c.parity()
	}
	if c.summary != nil {
		c.counts()
	}
	if c.continuity != nil {
		c.consistent()
		c.checksums()
		c.pageSize()
	}
	c.secrets()
}

// missing is the rule that a file breaks which can't be opened.
func missing(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is missing"
	case errors.Is(err, errNotFile):
		return "must be a regular file inside the packet, not a link"
	case errors.Is(err, errTooLarge):
		return "is too large"
	}
	return "must be readable"
}

func (c *checker) present(name string) bool {
	file, _, err := c.folder.open(name)
	if err != nil {
		c.add(name, nil, missing(err))
		return false
	}
	_ = file.Close()
	return true
}

func (c *checker) readable(name string) ([]byte, bool) {
	data, err := c.folder.read(name)
	if err != nil {
		c.add(name, nil, missing(err))
		return nil, false
	}
	return data, true
}

func (c *checker) readSummary(data []byte) {
	raw, err := decodeObject(data)
	if err != nil {
		c.add(SummaryFile, nil, err.Error())
		return
	}
	c.raw = raw
	before := len(c.findings)
	c.checkSummary(raw)
	if len(c.findings) > before {
		return // what is said of the files would be guessed
	}
	if c.summary, err = DecodeSummary(data); err != nil {
		c.add(SummaryFile, nil, "must be readable: "+err.Error())
		c.summary = nil
	}
}

// ours reports whether the summary says that this program made the packet.
func (c *checker) ours() bool {
	generator, _ := c.raw["generator_version"].(string)
	return strings.HasPrefix(generator, generatorPrefix)
}

func (c *checker) readContinuity() {
	data, err := c.folder.read(ContinuityFile)
	if errors.Is(err, fs.ErrNotExist) {
		if c.ours() {
			c.add(ContinuityFile, nil, "is missing, and the generator writes it")
			return
		}
		c.peer = true
		return
	}
	if err != nil {
		c.add(ContinuityFile, nil, missing(err))
		return
	}
	if !utf8.Valid(data) {
		c.add(ContinuityFile, nil, "isn't valid UTF-8")
		return
	}
	if c.continuity, err = DecodeContinuity(data); err != nil {
		c.add(ContinuityFile, nil, "must be of its format: "+err.Error())
		c.continuity = nil
	}
}

// escapes is the rule for a path that leads out of the packet.
const escapes = "must be a file's name inside the packet"

// paths checks the paths of the packet's own files in the summary.
func (c *checker) paths() {
	for _, key := range []string{"bounded_latest_transcript", "full_transcript", "touched_files"} {
		o, _ := c.raw[key].(map[string]any)
		path, ok := o["path"].(string)
		if !ok {
			continue // the contract's matter
		}
		at := "/" + key + "/path"
		if !inside(path) {
			c.add(at, path, escapes)
			continue
		}
		if file, _, err := c.folder.open(filepath.FromSlash(path)); err != nil {
			// Parity's matter, or named already as a missing file of every packet.
			if key != "full_transcript" && path != LatestFile && path != TouchedFile {
				c.add(at, path, "must name a file of the packet: it "+missing(err))
			}
		} else {
			_ = file.Close()
		}
	}
}

// inside reports whether a path stays in the packet on every system.
func inside(path string) bool {
	return filepath.IsLocal(filepath.FromSlash(path)) && !strings.HasPrefix(path, "/") &&
		!strings.Contains(path, "..") && !strings.ContainsAny(path, "\\:\x00") && path != "."
}

// parity holds full_transcript and its file together, both ways.
func (c *checker) parity() {
	_, said := c.raw["full_transcript"]
	_, err := c.folder.lstat(FullFile)
	there := err == nil
	switch {
	case said && !there:
		c.add("/full_transcript", nil, FullFile+" is missing")
	case there && !said:
		c.add(FullFile, nil, "the summary has no full_transcript for it")
	case there:
		c.present(FullFile)
	}
}

// counts holds the numbers of the summary against the files.
func (c *checker) counts() {
	s := c.summary
	if inside(s.Latest.Path) {
		if n, ok := c.countMessages(s.Latest.Path); ok && n != int(s.Latest.Messages) {
			c.count("/bounded_latest_transcript/message_count", int(s.Latest.Messages), n, s.Latest.Path)
		}
	}
	if s.Latest.Messages > Messages {
		c.add("/bounded_latest_transcript/message_count", s.Latest.Messages, fmt.Sprintf("must be at most the bound of %d", Messages))
	}
	if s.Full != nil && inside(s.Full.Path) && s.Full.Path != "" {
		if n, ok := c.countMessages(s.Full.Path); ok && n != int(s.Full.Messages) {
			c.count("/full_transcript/line_count", int(s.Full.Messages), n, s.Full.Path)
		}
	}
	if inside(s.Touched.Path) {
		c.touchedCounts()
	}
}

// count reports a number that a file contradicts. A peer doesn't mark lines of
// a message that look like a message's head, so that its file may seem to hold
// more than it does.
func (c *checker) count(at string, said, found int, name string) {
	severity := Error
	if c.peer && found > said {
		severity = Warning
	}
	c.find(at, said, fmt.Sprintf("%s holds %s", name, count(found, "message")), severity)
}

func (c *checker) countMessages(name string) (int, bool) {
	file, _, err := c.folder.open(filepath.FromSlash(name))
	if err != nil {
		return 0, false
	}
	defer file.Close()
	n, err := splitMessages(file, func(int, string) {})
	return n, err == nil
}

func (c *checker) touchedCounts() {
	data, err := c.folder.read(filepath.FromSlash(c.summary.Touched.Path))
	if err != nil {
		return
	}
	touched := string(data)
	for i, top := range c.summary.Touched.Top {
		if !strings.Contains(touched, top.Path+" ("+strconv.Itoa(int(top.Count))+")") {
			c.add(fmt.Sprintf("/touched_files/top_paths/%d", i), top, "isn't in "+c.summary.Touched.Path)
		}
	}
}

// splitMessages reads a transcript file in memory that doesn't grow with it. It
// calls fn with the text of each message (0: what stands before the first), a
// long one in several pieces, and returns how many messages there are. Heads
// count up from the first one, whatever its number.
func splitMessages(r io.Reader, fn func(message int, text string)) (int, error) {
	const most = 256 << 10
	in := bufio.NewReaderSize(r, 64<<10)
	var text strings.Builder
	flush := func(message int) {
		fn(message, text.String())
		text.Reset()
	}
	messages, next, lineStart := 0, -1, true
	for {
		piece, err := in.ReadSlice('\n')
		if n, ok := headNumber(string(piece[:min(len(piece), 64)])); lineStart && ok && (next < 0 || n == next) {
			flush(messages)
			messages, next = messages+1, n+1
		}
		if text.Write(piece); text.Len() >= most {
			flush(messages)
		}
		lineStart = err == nil
		switch {
		case errors.Is(err, io.EOF):
			flush(messages)
			return messages, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return messages, err
		}
	}
}

// in is a place in continuity.json.
func in(pointer string) string { return ContinuityFile + "#" + pointer }

// consistent holds continuity.json against the summary and against itself.
func (c *checker) consistent() {
	k := c.continuity
	if s := c.summary; s != nil {
		same := func(pointer, mine, theirs string) {
			if mine != theirs {
				c.add(in(pointer), mine, "must be as in "+SummaryFile)
			}
		}
		same("/session/id", k.Session.ID, s.SourceSession)
		same("/session/client", k.Session.Client, s.SourceRuntime)
		same("/generator_version", k.Generator, s.Generator)
		same("/generated_at", k.GeneratedAt.UTC().Format(timeFormat), s.GeneratedAt)
		same("/redaction/policy", k.Redaction.Policy, s.RedactionPolicy)
		if k.Declared.NextOwner != "" {
			same("/declared/next_owner", k.Declared.NextOwner, s.NextOwner)
		}
		if k.Declared.AuthorityBoundaries != "" {
			same("/declared/authority_boundaries", k.Declared.AuthorityBoundaries, s.AuthorityBoundaries)
		}
	}
	if k.Session.ID == "" {
		c.add(in("/session/id"), "", "must not be empty")
	}
	if !slices.Equal(k.Acceptance, acceptance()) {
		c.add(in("/acceptance"), nil, "must be the six points of the contract")
	}
	if k.Intent == nil || strings.TrimSpace(k.Intent.Text) == "" {
		c.find(in("/intent"), nil, "is empty: what the work is for isn't known", Warning)
	}
	if k.Work.Text == "" {
		c.add(in("/current_work/text"), "", "must not be empty")
	}
	if k.Reach.Bytes < 0 || k.Reach.From < 0 {
		c.add(in("/reach"), nil, "must not be negative")
	}
	for _, p := range k.places() {
		switch {
		case p.source.Offset < 0 || p.source.Line < 0:
			c.add(in(p.pointer), p.source.Position, "must be a place in a transcript")
		case p.source.Carried != nil && (k.Carried == nil || p.source.Carried.Times < 1):
			c.add(in(p.pointer), p.source.Carried, "is marked as carried over from a packet that isn't named")
		}
	}
}

// timeFormat is how the summary writes a time.
const timeFormat = "2006-01-02T15:04:05.999999999Z07:00"

// placed is an item's source and where it stands.
type placed struct {
	pointer string
	source  Source
}

// places is the source of every item.
func (c *Continuity) places() []placed {
	var l []placed
	add := func(source Source, format string, args ...any) {
		l = append(l, placed{fmt.Sprintf(format, args...), source})
	}
	for i, w := range c.Opening {
		add(w.Source, "/opening/%d/source", i)
	}
	for i, w := range c.Requests {
		add(w.Source, "/requests/%d/source", i)
	}
	if c.Plan != nil {
		add(c.Plan.Source, "/plan/source")
		for i, item := range c.Plan.Items {
			add(item.Source, "/plan/items/%d/source", i)
		}
	}
	if c.Proposal != nil {
		add(c.Proposal.Source, "/proposal/source")
	}
	for i, o := range c.OpenWork {
		add(o.Source, "/open_work/%d/source", i)
	}
	for i, f := range c.Files.Edited {
		add(f.First, "/files/edited/%d/first", i)
		add(f.Last, "/files/edited/%d/last", i)
	}
	for i, cmd := range c.Commands {
		add(cmd.Source, "/commands/%d/source", i)
	}
	if c.Boundary != nil {
		add(c.Boundary.Source, "/boundary/source")
	}
	return l
}

// checksums holds the sums against the files: each file has one, each sum its
// file.
func (c *checker) checksums() {
	sums := make(map[string]bool)
	for i, sum := range c.continuity.Checksums {
		at := in("/checksums/" + strconv.Itoa(i))
		switch {
		case !inside(sum.File) || sum.File == ContinuityFile:
			c.add(at+"/file", sum.File, escapes)
			continue
		case sums[sum.File]:
			c.add(at+"/file", sum.File, "stands there twice")
			continue
		}
		sums[sum.File] = true
		size, hash, err := c.hash(sum.File)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.add(at+"/file", sum.File, "is missing in the packet")
		case err != nil:
			c.add(at+"/file", sum.File, missing(err))
		case size != sum.Bytes:
			c.add(at+"/bytes", sum.Bytes, fmt.Sprintf("%s has %d", sum.File, size))
		case hash != sum.SHA256:
			c.add(at+"/sha256", sum.SHA256, sum.File+" has another content")
		}
	}
	for _, name := range []string{InstructionsFile, LatestFile, TouchedFile, SummaryFile, FullFile} {
		if _, err := c.folder.lstat(name); err == nil && !sums[name] {
			c.add(in("/checksums"), name, "must cover "+name)
		}
	}
}

func (c *checker) hash(name string) (int64, string, error) {
	file, _, err := c.folder.open(name)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, file)
	return n, hex.EncodeToString(hash.Sum(nil)), err
}

// pageSize holds what must be read to its bound.
func (c *checker) pageSize() {
	if info, err := c.folder.lstat(InstructionsFile); err == nil && info.Size() > MustRead {
		c.add(InstructionsFile, info.Size(), fmt.Sprintf("must have at most %d bytes", MustRead))
	}
}

// secrets looks for what redaction should have taken out. A peer's policy knows
// fewer classes than ours, so that there it is a warning.
func (c *checker) secrets() {
	if c.red == nil {
		c.find("", nil, "secrets weren't looked for", Warning)
		return
	}
	if c.raw != nil {
		c.secretValues("", c.raw)
	}
	if data, err := c.folder.read(ContinuityFile); err == nil {
		if o, err := decodeObject(data); err == nil {
			c.secretValues(in(""), o)
		}
	}
	for _, name := range []string{InstructionsFile, TouchedFile} {
		c.secretLines(name)
	}
	for _, name := range []string{LatestFile, FullFile} {
		c.secretMessages(name)
	}
}

const leftSecret = "holds a secret"

// secret reports a field that holds a secret, without repeating it.
func (c *checker) secret(at string) {
	severity := Error
	if c.peer {
		severity = Warning
	}
	c.find(at, nil, leftSecret, severity)
}

func (c *checker) has(text string) bool {
	clean, _ := c.red.Text(text)
	return clean != text
}

func (c *checker) secretValues(at string, v any) {
	switch v := v.(type) {
	case string:
		if c.has(v) {
			c.secret(at)
		}
	case []any:
		for i, item := range v {
			c.secretValues(at+"/"+strconv.Itoa(i), item)
		}
	case map[string]any:
		for _, key := range sortedKeys(v) {
			c.secretValues(at+"/"+key, v[key])
		}
	}
}

func sortedKeys(o map[string]any) []string {
	keys := make([]string, 0, len(o))
	for key := range o {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (c *checker) secretLines(name string) {
	data, err := c.folder.read(name)
	if err != nil {
		return
	}
	n := 0
	for l := range strings.SplitSeq(string(data), "\n") {
		n++
		if c.has(l) {
			c.secret(name + ":" + strconv.Itoa(n))
		}
	}
}

func (c *checker) secretMessages(name string) {
	file, _, err := c.folder.open(name)
	if err != nil {
		return
	}
	defer file.Close()
	_, err = splitMessages(file, func(message int, text string) {
		if c.has(text) {
			c.secret(name + ", message " + strconv.Itoa(message))
		}
	})
	if err != nil {
		c.add(name, nil, missing(err))
	}
}
