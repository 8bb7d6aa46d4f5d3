package installer

import (
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
)

// TestJSONIsWrittenInTheStyleOfItsNeighbours pins what an install looks like in
// files of different hands: one short entry and one rule are added.
func TestJSONIsWrittenInTheStyleOfItsNeighbours(t *testing.T) {
	w := Wanted{
		Client: client.Claude, Getenv: testEnv, Rule: "R",
		Hooks: []WantedHook{{Entry{"PreCompact", Precompact, 30}, "C"}},
	}
	const (
		flat   = `{"hooks":[{"type":"command","command":"C","timeout":30}]}`
		spaced = `{"hooks": [{"type": "command", "command": "C", "timeout": 30}]}`
		two    = "{\n  \"hooks\": {\n    \"PreCompact\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"C\",\n            \"timeout\": 30\n          }\n        ]\n      }\n    ]\n  },\n  \"permissions\": {\n    \"allow\": [\n      \"R\"\n    ]\n  }\n}"
	)
	for src, want := range map[string]string{
		"":                 two + "\n",
		"{}":               two,
		"{ }\n":            two + "\n",
		`{"a":1}`:          `{"a":1,"hooks":{"PreCompact":[` + flat + `]},"permissions":{"allow":["R"]}}`,
		`{"a": 1, "b": 2}`: `{"a": 1, "b": 2, "hooks": {"PreCompact": [` + spaced + `]}, "permissions": {"allow": ["R"]}}`,
		`{"hooks":{"PreCompact":[]},"permissions":{}}`:                                                                                   `{"hooks":{"PreCompact":[` + flat + `]},"permissions":{"allow":["R"]}}`,
		"{\r\n\t\"hooks\" : {\"PreCompact\" : []},\r\n\t\"permissions\" : {\"allow\" : [\"x\"]}\r\n}":                                    "{\r\n\t\"hooks\" : {\"PreCompact\" : [\r\n\t\t{\r\n\t\t\t\"hooks\" : [\r\n\t\t\t\t{\r\n\t\t\t\t\t\"type\" : \"command\",\r\n\t\t\t\t\t\"command\" : \"C\",\r\n\t\t\t\t\t\"timeout\" : 30\r\n\t\t\t\t}\r\n\t\t\t]\r\n\t\t}\r\n\t]},\r\n\t\"permissions\" : {\"allow\" : [\"x\", \"R\"]}\r\n}",
		"{\n \"permissions\": {\n  \"allow\": [\n   \"x\"\n  ]\n },\n \"hooks\": {\n  \"PreCompact\": [\n   {\"hooks\": []}\n  ]\n }\n}": "{\n \"permissions\": {\n  \"allow\": [\n   \"x\",\n   \"R\"\n  ]\n },\n \"hooks\": {\n  \"PreCompact\": [\n   {\"hooks\": []},\n   {\n    \"hooks\": [\n     {\n      \"type\": \"command\",\n      \"command\": \"C\",\n      \"timeout\": 30\n     }\n    ]\n   }\n  ]\n }\n}",
	} {
		edit, err := InstallJSON([]byte(src), w)
		if err != nil || string(edit.Data) != want {
			t.Errorf("%q: %v\n%s\nwant\n%s", src, err, edit.Data, want)
		}
	}
}
