package bridge

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// TestReceiptLineIsItsJSON: what is written by hand reads back as the receipt,
// with every field that there is.
func TestReceiptLineIsItsJSON(t *testing.T) {
	full := Receipt{Time: time.Date(2026, 11, 29, 10, 0, 0, 123456789, time.UTC), Millis: 1.25}
	for f := range reflect.ValueOf(&full).Elem().NumField() {
		if field := reflect.ValueOf(&full).Elem().Field(f); field.Kind() == reflect.String {
			field.SetString("a \"quoted\" line\nof " + reflect.TypeOf(full).Field(f).Name + " \u4e2d\x01<&>")
		}
	}
	for _, r := range []Receipt{full, {}, {Millis: 1e9}} {
		var got Receipt
		if err := json.Unmarshal(r.line(), &got); err != nil {
			t.Fatalf("%v\n%s", err, r.line())
		}
		if got != r {
			t.Errorf("got %+v, want %+v", got, r)
		}
		want := map[string]any{}
		encoded, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(encoded, &want)
		}
		have := map[string]any{}
		if err == nil {
			err = json.Unmarshal(r.line(), &have)
		}
		if err != nil || !reflect.DeepEqual(have, want) {
			t.Errorf("%v: got %s, want %s", err, r.line(), encoded)
		}
	}
}
