package packet

import (
	"encoding/json"
	"errors"
	"fmt"
)

// uniqueKeys refuses what encoding/json would let pass in continuity.json: a key
// twice in one object, or one in other letters than ours, which are all lower
// case. data is valid JSON.
func uniqueKeys(data []byte) error {
	w := keyWalk{data: data}
	return w.value("", 0)
}

// keyWalk goes once over a valid document and looks at nothing but its keys.
type keyWalk struct {
	data []byte
	at   int
}

// deepest is how deep a document of ours may be nested, with much to spare.
const deepest = 32

func (w *keyWalk) value(path string, depth int) error {
	if depth > deepest {
		return errors.New("nested too deep")
	}
	switch w.next() {
	case '{':
		return w.object(path, depth)
	case '[':
		return w.array(path, depth)
	case '"':
		w.text()
		return nil
	}
	for w.at < len(w.data) && !ends(w.data[w.at]) {
		w.at++
	}
	return nil
}

func (w *keyWalk) object(path string, depth int) error {
	seen := make(map[string]bool)
	for w.at++; w.next() != '}'; {
		if w.data[w.at] == ',' {
			w.at++
			w.next()
		}
		key := string(w.text())
		at := path + "/" + key
		switch {
		case seen[key]:
			return fmt.Errorf("key %q stands there twice", clip(at, 120))
		case !lowerKey(key):
			return fmt.Errorf("unknown key %q", clip(at, 120))
		}
		seen[key] = true
		w.next() // the colon
		w.at++
		if err := w.value(at, depth+1); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

func (w *keyWalk) array(path string, depth int) error {
	for w.at++; w.next() != ']'; {
		if w.data[w.at] == ',' {
			w.at++
		}
		if err := w.value(path, depth+1); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

// text passes a string and returns what stands between its quotes, escapes as
// they are.
func (w *keyWalk) text() []byte {
	w.at++
	start := w.at
	for w.data[w.at] != '"' {
		if w.data[w.at] == '\\' {
			w.at++
		}
		w.at++
	}
	w.at++
	return w.data[start : w.at-1]
}

// next passes white space and returns the byte after it, 0 at the end.
func (w *keyWalk) next() byte {
	for w.at < len(w.data) {
		switch b := w.data[w.at]; b {
		case ' ', '\t', '\r', '\n':
			w.at++
		default:
			return b
		}
	}
	return 0
}

func ends(b byte) bool {
	switch b {
	case ',', ']', '}', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

func lowerKey(key string) bool {
	for i := range len(key) {
		b := key[i]
		if (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '_' {
			return false
		}
	}
	return key != ""
}

// formatOf is a document's "format", as text whatever it is.
func formatOf(data []byte) string {
	var head struct {
		Format json.RawMessage `json:"format"`
	}
	if json.Unmarshal(data, &head) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(head.Format, &text) != nil {
		return string(head.Format)
	}
	return text
}
