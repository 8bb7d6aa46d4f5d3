package packet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	summarySchemaFile    = "restore-summary.schema.json"
	continuitySchemaFile = "continuity.schema.json"
)

func compile(t testing.TB, file string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func decoded(t testing.TB, data []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// kinds are inputs that differ in what is known.
func kinds() map[string]Input {
	bare := Input{Session: "s", Client: "codex", Redactor: secrets{}, Time: day}
	undeclared := anInput()
	undeclared.Declared, undeclared.Git, undeclared.Memory, undeclared.Seat = Declared{}, nil, nil, ""
	second := anInput()
	first, _ := Make(anInput())
	second.Previous = first.Continuity
	second.Story.Plan, second.Story.Opening, second.Story.From = nil, nil, 20000
	return map[string]Input{"whole": anInput(), "bare": bare, "undeclared": undeclared, "second": second}
}

func TestPacketsMeetTheirSchemas(t *testing.T) {
	for name, in := range kinds() {
		t.Run(name, func(t *testing.T) {
			dir := written(t, in)
			for file, schema := range map[string]string{SummaryFile: summarySchemaFile, ContinuityFile: continuitySchemaFile} {
				data, err := os.ReadFile(filepath.Join(dir, file))
				if err != nil {
					t.Fatal(err)
				}
				if err := compile(t, schema).Validate(decoded(t, data)); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
			if r := Validate(dir, secrets{}); !r.Valid {
				t.Errorf("not valid: %+v", r.Findings)
			}
		})
	}
}

// The summary's keys, their order and which are required, are the contract's.
func TestSummaryHasTheKeysOfItsSchema(t *testing.T) {
	data, err := os.ReadFile(summarySchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var keys, required, ruled []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Summary]()) {
		name, optional := tag(f)
		keys = append(keys, name)
		if !optional {
			required = append(required, name)
		}
	}
	for _, f := range fields() {
		ruled = append(ruled, f.name)
		if f.optional == slices.Contains(schema.Required, f.name) {
			t.Errorf("%s: optional %v", f.name, f.optional)
		}
	}
	if !slices.Equal(required, schema.Required) {
		t.Errorf("the type requires\n%v\nthe schema\n%v", required, schema.Required)
	}
	if !slices.Equal(keys, ruled) || len(keys) != len(schema.Properties) || len(keys) != 22 {
		t.Errorf("the type has %v\nthe rules %v\nthe schema %d", keys, ruled, len(schema.Properties))
	}
	for _, key := range keys {
		if _, ok := schema.Properties[key]; !ok {
			t.Errorf("the schema lacks %s", key)
		}
	}
}

func tag(f reflect.StructField) (name string, optional bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name, strings.Contains(options, "omit")
}

// What continuity.schema.json adds to the types: values and bounds, by
// "Type.key".
var constraints = map[string]map[string]any{
	"Continuity.format":     {"const": Format},
	"Continuity.trigger":    {"enum": []string{"manual", "auto", ""}},
	"Continuity.acceptance": {"minItems": 6, "maxItems": 6},
	"Session.client":        {"enum": []string{"claude-code", "codex"}},
	"Session.id":            {"minLength": 1},
	"Work.text":             {"minLength": 1},
	"Work.origin":           {"enum": []string{"declared", "plan", "request", "unknown"}},
	"Surface.kind":          {"enum": []string{Recap, Role, Notes, ProjectContext}},
	"Sum.sha256":            {"pattern": "^[0-9a-f]{64}$"},
	"Surface.sha256":        {"pattern": "^([0-9a-f]{64})?$"},
	"Carried.times":         {"minimum": 1},
}

// schemaOf writes the schema of a type's JSON, each struct as a definition.
func schemaOf(t reflect.Type, definitions map[string]any) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		inner := schemaOf(t.Elem(), definitions)
		return map[string]any{"anyOf": []any{map[string]any{"type": "null"}, inner}}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), definitions)}
	case t.Kind() == reflect.Struct:
		define(t, definitions)
		return map[string]any{"$ref": "#/definitions/" + t.Name()}
	case t.Kind() == reflect.String:
		return map[string]any{"type": "string"}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return map[string]any{"type": "integer", "minimum": 0}
	}
	panic(fmt.Sprintf("no schema for %v", t))
}

func define(t reflect.Type, definitions map[string]any) {
	if _, done := definitions[t.Name()]; done {
		return
	}
	properties, required := map[string]any{}, []string{}
	definition := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	definitions[t.Name()] = definition
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, optional := tag(f)
		property := schemaOf(f.Type, definitions)
		if optional && f.Type.Kind() == reflect.Pointer {
			property = schemaOf(f.Type.Elem(), definitions)
		}
		if f.Name == "ExitCode" { // a signal's may be negative
			property = map[string]any{"type": []string{"integer", "null"}}
		}
		for key, value := range constraints[t.Name()+"."+name] {
			property[key] = value
		}
		properties[name] = property
		if !optional {
			required = append(required, name)
		}
	}
	definition["required"] = required
}

// continuity.schema.json is written from the types: go test -update.
func TestContinuitySchemaIsThatOfTheTypes(t *testing.T) {
	definitions := map[string]any{}
	define(reflect.TypeFor[Continuity](), definitions)
	for key := range constraints {
		typ, name, _ := strings.Cut(key, ".")
		definition, _ := definitions[typ].(map[string]any)
		properties, _ := definition["properties"].(map[string]any)
		if properties[name] == nil {
			t.Errorf("a constraint for %s, which isn't there", key)
		}
	}
	root := definitions["Continuity"].(map[string]any)
	delete(definitions, "Continuity")
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "continuity.json, " + Format
	root["definitions"] = definitions
	golden(t, continuitySchemaFile, mustEncode(t, root))
}

func mustEncode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// golden compares with a committed file.
func golden(t testing.TB, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", file, firstDifference(want, got))
	}
}

func firstDifference(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\n- %s\n+ %s", i+1, a, b)
		}
	}
	return ""
}

// The rules written in Go and the schema file agree on every summary, valid or
// not.
func FuzzSummaryRulesAgreeWithTheSchema(f *testing.F) {
	schema := compile(f, summarySchemaFile)
	base, err := mustMake(f, anInput()).Summary.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(base)
	for _, edit := range [][2]string{
		{`"bound": 120`, `"bound": 120.0`},
		{`"bound": 120`, `"bound": 121`},
		{`"count": 5`, `"count": 5.5`},
		{`"count": 5`, `"count": -1`},
		{`2026-11-29T15:02:00Z`, `2026-11-29T15:02:00,5Z`},
		{`2026-11-29T15:02:00Z`, `2026-11-29t23:59:60.1z`},
		{`2026-11-29T15:02:00Z`, `2026-11-29T15:59:60-08:00`},
		{`2026-11-29T15:02:00Z`, `2026-02-30T15:02:00Z`},
		{`2026-11-29T15:02:00Z`, `2026-11-29T5:02:00Z`},
		{`2026-11-29T15:02:00Z`, `2026-11-29T15:02:00+24:00`},
		{`"source_cwd": "/work/shop"`, `"source_cwd": "work"`},
		{`"default_target_repo": "/work/shop"`, `"default_target_repo": null`},
		{`"next_owner": "dev-review@shop"`, `"next_owner": ""`},
		{`"rig_whoami",`, `"nobody",`},
		{`"caveats": [`, `"caveats": [1, `},
		{`{`, `{"full_transcript": {"line_count": "x"},`},
		{`{`, `{"full_transcript": {"more": 1},`},
		{`{`, `{"full_transcript": [],`},
		{`{`, `{"schema_version": 1,`},
	} {
		f.Add([]byte(strings.Replace(string(base), edit[0], edit[1], 1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, err := decodeObject(data)
		if err != nil || bytes.ContainsAny(data, "eE") && hasExponent(raw) {
			return
		}
		c := new(checker)
		c.checkSummary(raw)
		if err := schema.Validate(decoded(t, data)); (err == nil) != (len(c.findings) == 0) {
			t.Errorf("the schema says %v, the rules %+v", err, c.findings)
		}
	})
}

// hasExponent reports numbers like 1e400, which the two read differently.
func hasExponent(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return strings.ContainsAny(string(v), "eE")
	case []any:
		return slices.ContainsFunc(v, hasExponent)
	case map[string]any:
		for _, item := range v {
			if hasExponent(item) {
				return true
			}
		}
	}
	return false
}
