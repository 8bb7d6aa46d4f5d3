package packet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// field is one top-level key of the v0 summary with its rules. The same rules
// stand in restore-summary.schema.json; a test holds the two together.
type field struct {
	name     string
	optional bool
	check    func(c *checker, at string, v any)
}

// fields is the contract, in its order.
func fields() []field {
	return []field{
		{"source_session_id", false, filled},
		{"source_rig", false, filled},
		{"source_runtime", false, oneOf(runtimes)},
		{"source_cwd", false, absolute},
		{"target_rig", false, filled},
		{"target_runtime", false, oneOf(runtimes)},
		{"target_workspace_root", false, absolute},
		{"default_target_repo", false, textOrNull},
		{"role_pointer", false, filled},
		{"bounded_latest_transcript", false, object(
			field{"path", false, text}, field{"message_count", false, natural}, field{"bound", false, bound})},
		{"full_transcript", true, object(field{"path", true, text}, field{"line_count", true, natural})},
		{"touched_files", false, object(field{"path", false, text}, field{"top_paths", false, listOf(0, object(
			field{"path", false, text}, field{"count", false, natural}))})},
		{"durable_pointers", false, object(
			field{"queue_pointers", false, texts}, field{"progress_pointers", false, texts},
			field{"field_note_pointers", false, texts}, field{"artifact_pointers", false, texts})},
		{"current_work_summary", false, filled},
		{"next_owner", false, filled},
		{"caveats", false, texts},
		{"authority_boundaries", false, filled},
		{"omitted_classes", false, listOf(0, oneOf(omittedClasses))},
		{"redaction_policy_id", false, oneOf(redactionPolicy)},
		{"source_trust_ranking", false, listOf(1, oneOf(trustRanking))},
		{"generator_version", false, filled},
		{"generated_at", false, dateTime},
	}
}

// checkSummary holds a decoded summary against the contract.
func (c *checker) checkSummary(summary map[string]any) {
	known := fields()
	object(known...)(c, "", summary)
	for name := range summary {
		if !slices.ContainsFunc(known, func(f field) bool { return f.name == name }) {
			c.add("/"+name, summary[name], "isn't a key of the v0 contract")
		}
	}
}

func filled(c *checker, at string, v any) {
	switch s, ok := v.(string); {
	case !ok:
		c.add(at, v, "must be a string")
	case s == "":
		c.add(at, v, "must not be empty")
	}
}

func text(c *checker, at string, v any) {
	if _, ok := v.(string); !ok {
		c.add(at, v, "must be a string")
	}
}

func textOrNull(c *checker, at string, v any) {
	if _, ok := v.(string); !ok && v != nil {
		c.add(at, v, "must be a string or null")
	}
}

func absolute(c *checker, at string, v any) {
	switch s, ok := v.(string); {
	case !ok:
		c.add(at, v, "must be a string")
	case !strings.HasPrefix(s, "/"):
		c.add(at, v, `must begin with "/"`)
	}
}

func oneOf(literals []string) func(*checker, string, any) {
	return func(c *checker, at string, v any) {
		if s, ok := v.(string); !ok || !slices.Contains(literals, s) {
			c.add(at, v, "must be one of "+strings.Join(literals, ", "))
		}
	}
}

func natural(c *checker, at string, v any) {
	if n, ok := number(v); !ok || n != math.Trunc(n) {
		c.add(at, v, "must be a whole number")
	} else if n < 0 {
		c.add(at, v, "must not be negative")
	}
}

func bound(c *checker, at string, v any) {
	if n, ok := number(v); !ok || n != Messages {
		c.add(at, v, fmt.Sprintf("must be %d", Messages))
	}
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func texts(c *checker, at string, v any) { listOf(0, text)(c, at, v) }

func listOf(least int, check func(*checker, string, any)) func(*checker, string, any) {
	return func(c *checker, at string, v any) {
		items, ok := v.([]any)
		if !ok {
			c.add(at, v, "must be a list")
			return
		}
		if len(items) < least {
			c.add(at, v, "must not be empty")
		}
		for i, item := range items {
			check(c, at+"/"+strconv.Itoa(i), item)
		}
	}
}

func object(known ...field) func(*checker, string, any) {
	return func(c *checker, at string, v any) {
		o, ok := v.(map[string]any)
		if !ok {
			c.add(at, v, "must be an object")
			return
		}
		for _, f := range known {
			value, there := o[f.name]
			switch {
			case there:
				f.check(c, at+"/"+f.name, value)
			case !f.optional:
				c.add(at+"/"+f.name, nil, "is required")
			}
		}
	}
}

func dateTime(c *checker, at string, v any) {
	s, ok := v.(string)
	if !ok {
		c.add(at, v, "must be a string")
		return
	}
	if !isDateTime(s) {
		c.add(at, v, "must be a date and time as in RFC 3339")
	}
}

// isDateTime reports whether s is a date-time of RFC 3339. time.Parse alone lets
// through what isn't: a comma, an hour of one digit, any offset.
func isDateTime(s string) bool {
	const shape = "0000-00-00T00:00:00"
	if len(s) < len(shape)+1 {
		return false
	}
	for i := range len(shape) {
		switch {
		case shape[i] == '0' && (s[i] < '0' || s[i] > '9'):
			return false
		case shape[i] == 'T' && s[i] != 'T' && s[i] != 't':
			return false
		case (shape[i] == '-' || shape[i] == ':') && s[i] != shape[i]:
			return false
		}
	}
	zone := s[len(shape):]
	if digits, ok := strings.CutPrefix(zone, "."); ok {
		zone = strings.TrimLeft(digits, "0123456789")
		if zone == digits {
			return false
		}
	}
	offset, ok := zoneOffset(zone)
	if !ok {
		return false
	}
	date, err := time.Parse(time.DateOnly, s[:10])
	hour, minute, second := two(s[11:]), two(s[14:]), two(s[17:])
	if err != nil || hour > 23 || minute > 59 || second > 60 {
		return false
	}
	if second == 60 { // a leap second ends a day in UTC
		utc := date.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute - offset)
		return utc.Hour() == 23 && utc.Minute() == 59
	}
	return true
}

func two(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }

func zoneOffset(zone string) (time.Duration, bool) {
	if zone == "Z" || zone == "z" {
		return 0, true
	}
	if len(zone) != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':' || strings.Trim(zone[1:3]+zone[4:], "0123456789") != "" {
		return 0, false
	}
	hours, minutes := two(zone[1:]), two(zone[4:])
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if zone[0] == '-' {
		offset = -offset
	}
	return offset, hours <= 23 && minutes <= 59
}

// decodeObject reads one JSON object with exact numbers. A key given twice is
// an error: two readers could take two different values for it.
func decodeObject(data []byte) (map[string]any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("isn't valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := decodeValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("isn't a JSON object")
	}
	return o, nil
}

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	if depth > 64 {
		return nil, errors.New("is nested too deep")
	}
	token, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("isn't JSON: %w", err)
	}
	switch token {
	case json.Delim('{'):
		o := make(map[string]any)
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, fmt.Errorf("isn't JSON: %w", err)
			}
			name, _ := key.(string)
			if _, twice := o[name]; twice {
				return nil, fmt.Errorf("has the key %q twice", clip(name, 60))
			}
			if o[name], err = decodeValue(dec, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := dec.Token()
		return o, err
	case json.Delim('['):
		l := []any{}
		for dec.More() {
			v, err := decodeValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			l = append(l, v)
		}
		_, err := dec.Token()
		return l, err
	}
	return token, nil
}
