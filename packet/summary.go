package packet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Summary is restore-summary.json, contract v0, in the contract's order. The
// file's schema is restore-summary.schema.json.
type Summary struct {
	SourceSession       string           `json:"source_session_id"`
	SourceRig           string           `json:"source_rig"`
	SourceRuntime       string           `json:"source_runtime"`
	SourceCWD           string           `json:"source_cwd"`
	TargetRig           string           `json:"target_rig"`
	TargetRuntime       string           `json:"target_runtime"`
	TargetWorkspaceRoot string           `json:"target_workspace_root"`
	DefaultTargetRepo   *string          `json:"default_target_repo"`
	RolePointer         string           `json:"role_pointer"`
	Latest              LatestTranscript `json:"bounded_latest_transcript"`
	Full                *FullTranscript  `json:"full_transcript,omitempty"`
	Touched             TouchedFiles     `json:"touched_files"`
	Pointers            Pointers         `json:"durable_pointers"`
	CurrentWork         string           `json:"current_work_summary"`
	NextOwner           string           `json:"next_owner"`
	Caveats             []string         `json:"caveats"`
	AuthorityBoundaries string           `json:"authority_boundaries"`
	OmittedClasses      []string         `json:"omitted_classes"`
	RedactionPolicy     string           `json:"redaction_policy_id"`
	TrustRanking        []string         `json:"source_trust_ranking"`
	Generator           string           `json:"generator_version"`
	GeneratedAt         string           `json:"generated_at"` // RFC 3339
}

// LatestTranscript points to transcript-latest.md.
type LatestTranscript struct {
	Path     string `json:"path"`
	Messages Count  `json:"message_count"`
	Bound    Count  `json:"bound"` // always Messages (120)
}

// FullTranscript points to transcript.md. What the contract calls line_count is the
// number of messages.
type FullTranscript struct {
	Path     string `json:"path"`
	Messages Count  `json:"line_count"`
}

// TouchedFiles points to touched-files.md.
type TouchedFiles struct {
	Path string    `json:"path"`
	Top  []TopPath `json:"top_paths"`
}

// TopPath is one of the paths touched most.
type TopPath struct {
	Path  string `json:"path"`
	Count Count  `json:"count"`
}

// Count is a whole number that isn't negative. JSON knows no whole numbers:
// 120.0 is 120.
type Count int

// UnmarshalJSON reads any notation of a whole number.
func (c *Count) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(string(data), 64)
	if err != nil || f != math.Trunc(f) || f < 0 || f > math.MaxInt32 {
		return fmt.Errorf("%s isn't a count", clip(string(data), 40))
	}
	*c = Count(f)
	return nil
}

// The literals of the contract.
var (
	runtimes        = []string{"claude-code", "codex", "terminal", "external"}
	omittedClasses  = []string{"reasoning_records", "raw_tool_outputs", "function_call_output", "redacted_secrets"}
	redactionPolicy = []string{"openrig-v0", "velocity-v1"}
	trustRanking    = []string{"rig_whoami", "target_rigspec", "bounded_latest_transcript", "full_transcript", "touched_files", "restore_summary"}
)

// What stands in a required field of which nothing is known. Each comes with a
// caveat.
const (
	Unassigned   = "unassigned"    // source_rig, target_rig
	NoRole       = "none-declared" // role_pointer
	NoBoundaries = "none declared" // authority_boundaries
	Self         = "self"          // next_owner: the seat goes on
	UnknownWork  = "unknown"       // current_work_summary
)

// Encode is the one way to write restore-summary.json.
func (s *Summary) Encode() ([]byte, error) {
	copied := *s
	copied.Caveats, copied.OmittedClasses, copied.TrustRanking = list(s.Caveats), list(s.OmittedClasses), list(s.TrustRanking)
	copied.Touched.Top = list(s.Touched.Top)
	p := &copied.Pointers
	p.Queue, p.Progress, p.FieldNotes, p.Artifacts = list(p.Queue), list(p.Progress), list(p.FieldNotes), list(p.Artifacts)
	return encode(&copied)
}

// DecodeSummary reads a restore-summary.json of any generator. It keeps to the
// types of the contract; what the contract allows is Validate's matter. Keys of
// nested objects that it doesn't know are passed over, as the contract has it.
func DecodeSummary(data []byte) (*Summary, error) {
	if !json.Valid(data) {
		return nil, errors.New("not a JSON document")
	}
	if bytes.TrimLeft(data, " \t\r\n")[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	s := new(Summary)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, err
	}
	return s, nil
}

// Ours reports whether this program's kind made the packet: continuity.json is
// then part of it.
func (s *Summary) Ours() bool { return strings.HasPrefix(s.Generator, generatorPrefix) }

// rigOf is the rig in a seat's address, "" where it names none.
func rigOf(seat string) string {
	_, rig, ok := strings.Cut(seat, "@")
	if !ok || strings.Contains(rig, "@") {
		return ""
	}
	return rig
}

// CheckRig refuses a rig's name that could be read as more than a name.
func CheckRig(rig string) error {
	if strings.TrimSpace(rig) == "" || strings.Contains(rig, "@") {
		return fmt.Errorf("%q is no rig's name", clip(rig, 80))
	}
	return nil
}

// Runtimes are the values of source_runtime and target_runtime.
func Runtimes() []string { return slices.Clone(runtimes) }

// TrustRanking is the sources that source_trust_ranking may name, highest first.
func TrustRanking() []string { return slices.Clone(trustRanking) }
