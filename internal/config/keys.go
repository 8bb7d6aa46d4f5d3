package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// key is one setting: its name, what it is for, where its value lies. The
// reader, the sample and the printer all go by these tables.
type key[T any] struct {
	name  string
	doc   string // for the sample, lines of a comment
	at    func(*T) any
	check func(*T) error // of the value just read; nil: none
}

// layer is some settings of a T: those that a section of the file has.
type layer[T any] struct {
	values T
	set    []key[T]
}

// over lays the settings over t.
func (l layer[T]) over(t *T) {
	for _, k := range l.set {
		assign(k.at(t), k.at(&l.values))
	}
}

var declaredKeys = []key[Declared]{
	{"intent", "What the work is for, in your own words. The directive quotes it.", func(d *Declared) any { return &d.Intent }, nil},
	{"role_pointer", "Where the seat's role is written down: a path or URI.", func(d *Declared) any { return &d.RolePointer }, nil},
	{"default_repo", "The repository that the work is in, if it isn't the working folder: an absolute path.", func(d *Declared) any { return &d.DefaultRepo }, func(d *Declared) error {
		return absoluteOrNone(d.DefaultRepo)
	}},
	{"next_owner", "Who takes the work over, such as \"review@my-rig\". Empty: the seat goes on itself.", func(d *Declared) any { return &d.NextOwner }, nil},
	{"authority_boundaries", "What the seat may and may not do.", func(d *Declared) any { return &d.AuthorityBoundaries }, nil},
	{"caveats", "What a successor has to mind.", func(d *Declared) any { return &d.Caveats }, nil},
	{"ack", "Ask the agent to open its next answer with a sentence that names the packet.", func(d *Declared) any { return &d.Ack }, nil},
	{"off", "No packets and no directives.", func(d *Declared) any { return &d.Off }, nil},
}

// pointerKeys stand in a table of their own, pointers, in the sections of
// declaredKeys.
var pointerKeys = []key[Declared]{
	{"queue", "Where work waits.", func(d *Declared) any { return &d.Pointers.Queue }, nil},
	{"progress", "Where progress is kept.", func(d *Declared) any { return &d.Pointers.Progress }, nil},
	{"field_notes", "What was learned on the way.", func(d *Declared) any { return &d.Pointers.FieldNotes }, nil},
	{"artifacts", "What was made.", func(d *Declared) any { return &d.Pointers.Artifacts }, nil},
}

var policyKeys = []key[Policy]{
	{"enabled", "reseat watch compacts seats of this client. Never on by itself.", func(p *Policy) any { return &p.Enabled }, nil},
	{"threshold_percent", "From how full a context is compacted: 1 to 100. With anything else the policy is off.", func(p *Policy) any { return percent{p} }, nil},
	{"threshold_tokens", "The same in tokens; whichever is reached first. 0: only the percentage counts.", func(p *Policy) any { return tokens{p} }, nil},
	{"cooldown", "How long a seat is left alone after a compaction.", func(p *Policy) any { return &p.Cooldown }, nil},
	{"quiet_hours", "When nothing is triggered, in local time: [\"22:00-07:00\"].", func(p *Policy) any { return &p.QuietHours }, nil},
	{"prep", "The turn that prepares the seat for its compaction. Empty: the built-in one.", func(p *Policy) any { return &p.Prep }, nil},
	{"instructions", "What the client's own summary should keep.", func(p *Policy) any { return &p.Instructions }, nil},
	{"restore_turn", "Give an idle seat a turn after the compaction, so that the directive comes in at once.", func(p *Policy) any { return &p.RestoreTurn }, nil},
	{"notify", "A command and its arguments, told of each compaction (JSON on stdin).", func(p *Policy) any { return &p.Notify }, nil},
}

var limitKeys = []key[Limits]{
	{"packets_per_session", "Packets kept of one session.", func(l *Limits) any { return &l.PacketsPerSession }, func(l *Limits) error {
		return atLeast(l.PacketsPerSession, 1)
	}},
	{"max_age", "How long packets and receipts are kept.", func(l *Limits) any { return &l.MaxAge }, func(l *Limits) error {
		return atLeast(l.MaxAge, 60*minute)
	}},
	{"state_bytes", "The whole state folder.", func(l *Limits) any { return &l.StateBytes }, func(l *Limits) error { return atLeast(l.StateBytes, mib) }},
	{"message_bytes", "One message in a packet.", func(l *Limits) any { return &l.MessageBytes }, func(l *Limits) error { return atLeast(l.MessageBytes, kib) }},
	{"file_bytes", "One file of a packet, transcript.md apart.", func(l *Limits) any { return &l.FileBytes }, func(l *Limits) error { return atLeast(l.FileBytes, 64*kib) }},
	{"packet_bytes", "One packet, transcript.md apart.", func(l *Limits) any { return &l.PacketBytes }, func(l *Limits) error { return atLeast(l.PacketBytes, 320*kib) }},
	{"receipts_bytes", "All receipts.", func(l *Limits) any { return &l.ReceiptsBytes }, func(l *Limits) error { return atLeast(l.ReceiptsBytes, 64*kib) }},
}

var redactKeys = []key[Redact]{
	{"patterns", "What is a secret here, besides what is known to be one: regular expressions,\nwritten as in Go, without \\p{...}. With a group, only the first group is replaced.", func(r *Redact) any { return &r.Patterns }, nil},
	{"leave_out_paths", "Files that a packet never names: globs, \"**\" for any depth, \"~/\" for your home.", func(r *Redact) any { return &r.LeaveOutPaths }, nil},
	{"exempt", "Texts that look like secrets and are none.", func(r *Redact) any { return &r.Exempt }, nil},
}

var pluginKeys = []key[Plugins]{
	{"paths", "Runtime adapters besides those beside reseat and in the state folder:\nabsolute paths of programs.", func(p *Plugins) any { return &p.Paths }, func(p *Plugins) error {
		for _, path := range p.Paths {
			if !filepath.IsAbs(path) {
				return fmt.Errorf("%q is no absolute path", path)
			}
		}
		return nil
	}},
}

// percent and tokens are the thresholds of a policy. One that can't be used
// isn't an error of the file: it switches the policy off.
type (
	percent struct{ *Policy }
	tokens  struct{ *Policy }
)

func (t percent) read(v any) {
	t.percentFault = ""
	if n, ok := v.(int64); ok && n >= 1 && n <= 100 {
		t.ThresholdPercent = int(n)
		return
	}
	t.ThresholdPercent, t.percentFault = 0, fmt.Sprintf("threshold_percent is %v, and only whole numbers from 1 to 100 count", v)
}

func (t tokens) read(v any) {
	t.tokensFault = ""
	if n, ok := v.(int64); ok && n >= 0 {
		t.ThresholdTokens = n
		return
	}
	t.ThresholdTokens, t.tokensFault = 0, fmt.Sprintf("threshold_tokens is %v, and only whole numbers from 0 on count", v)
}

// assign copies a setting's value from one T to another.
func assign(to, from any) {
	switch to := to.(type) {
	case *string:
		*to = *from.(*string)
	case *bool:
		*to = *from.(*bool)
	case *int:
		*to = *from.(*int)
	case *Size:
		*to = *from.(*Size)
	case *Duration:
		*to = *from.(*Duration)
	case *[]string:
		*to = *from.(*[]string)
	case *[]Hours:
		*to = *from.(*[]Hours)
	case percent:
		from := from.(percent)
		to.ThresholdPercent, to.percentFault = from.ThresholdPercent, from.percentFault
	case tokens:
		from := from.(tokens)
		to.ThresholdTokens, to.tokensFault = from.ThresholdTokens, from.tokensFault
	}
}

// read puts a value of the file into a setting. The error says what the value
// must be.
func read(to, v any) error {
	text, isText := v.(string)
	number, isNumber := v.(int64)
	var err error
	switch to := to.(type) {
	case *string:
		if !isText {
			return errors.New("must be a text in quotes")
		}
		*to = text
	case *bool:
		b, ok := v.(bool)
		if !ok {
			return errors.New("must be true or false")
		}
		*to = b
	case *int:
		if !isNumber || number < 0 || number > 1<<30 {
			return errors.New("must be a whole number")
		}
		*to = int(number)
	case *Size:
		switch {
		case isText:
			*to, err = parseSize(text)
		case isNumber && number >= 0 && number <= 1<<50:
			*to = Size(number)
		default:
			err = errSize
		}
	case *Duration:
		if err = errDuration; isText {
			*to, err = parseDuration(text)
		}
	case *[]string:
		*to, err = readList(v, func(s string) (string, error) { return s, nil })
	case *[]Hours:
		*to, err = readList(v, parseHours)
	case percent:
		to.read(v)
	case tokens:
		to.read(v)
	}
	return err
}

func readList[T any](v any, parse func(string) (T, error)) ([]T, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("must be a list of texts: [\"...\"]")
	}
	out := make([]T, 0, len(list))
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return nil, errors.New("must be a list of texts: [\"...\"]")
		}
		t, err := parse(s)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func absoluteOrNone(path string) error {
	if path == "" || filepath.IsAbs(path) {
		return nil
	}
	return errors.New("must be an absolute path")
}

func atLeast[T int | Size | Duration](v, least T) error {
	if v < least {
		return fmt.Errorf("must be at least %v", least)
	}
	return nil
}

// has reports whether the layer sets a key.
func (l *layer[T]) has(name string) bool {
	return slices.ContainsFunc(l.set, func(k key[T]) bool { return k.name == name })
}

// unless writes a threshold, nothing where it can't be used.
func unless[T int | int64](fault string, v T) string {
	if fault != "" {
		return ""
	}
	return fmt.Sprint(v)
}

// value writes a setting as TOML, "" where it has no value that can be used.
func value(of any) string {
	switch v := of.(type) {
	case *string:
		return quote(*v)
	case *bool:
		return fmt.Sprint(*v)
	case *int:
		return fmt.Sprint(*v)
	case *Size:
		return quote(v.String())
	case *Duration:
		return quote(v.String())
	case *[]string:
		return list(*v, func(s string) string { return s })
	case *[]Hours:
		return list(*v, Hours.String)
	case percent:
		return unless(v.percentFault, v.ThresholdPercent)
	case tokens:
		return unless(v.tokensFault, v.ThresholdTokens)
	}
	return ""
}

func list[T any](all []T, text func(T) string) string {
	quoted := make([]string, len(all))
	for i, t := range all {
		quoted[i] = quote(text(t))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quote writes a basic string of TOML.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
