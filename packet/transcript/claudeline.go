package transcript

import (
	"bytes"
	"hash/maphash"
	"time"
)

// claudeLine is one record of Claude Code's transcript: its own members as raw
// values, nothing decoded. Seen on 2.1.197, 2.1.322 and 2.1.332: the order of the
// members differs by type and version, so a line is decided by its first bytes
// only where that is certain, else by this scan.
type claudeLine struct {
	typ, subtype      []byte // without quotes
	id                []byte // uuid, without quotes
	parent            []byte // parentUuid, without quotes; nil if null or absent
	logical           []byte // logicalParentUuid
	root              bool   // parentUuid is there and null
	sidechain         bool
	meta              bool
	summary           bool // isCompactSummary
	hidden            bool // isVisibleInTranscriptOnly
	apiError          bool // isApiErrorMessage
	session, at       []byte
	version, cwd      []byte
	branch, mode      []byte
	agent, source     []byte
	promptSource      []byte
	message           []byte
	attachment        []byte
	result            []byte // toolUseResult
	compact           []byte // compactMetadata
	content           []byte // of a system record or a queue operation
	operation, origin []byte
	leafPrompt        []byte    // lastPrompt
	small             *shrunk   // where the line was too long to be decoded
	when              time.Time // decoded on demand
}

// briefClaude scans a line up to its uuid: all that the chain needs stands before
// it, in the order that the client writes, and what stands behind it can be long.
// Of a line in another order, or of one that isn't whole, it scans everything.
func briefClaude(b []byte) (l claudeLine, ok bool) {
	if !bytes.HasPrefix(b, []byte(`{"parentUuid":`)) {
		return parseClaude(b, nil)
	}
	f := members(b)
	for f.next() {
		l.set(f.key, f.val)
		if string(f.key) == "uuid" && len(l.typ) > 0 && (l.message != nil || l.attachment != nil || l.subtype != nil) {
			return l, true
		}
	}
	return l, f.whole && skipSpace(b, f.i) == len(b)
}

// parseClaude scans the line's members; false if it isn't one whole JSON object.
func parseClaude(b []byte, small *shrunk) (l claudeLine, ok bool) {
	l.small = small
	f := members(b)
	for f.next() {
		l.set(f.key, f.val)
	}
	return l, f.whole && skipSpace(b, f.i) == len(b)
}

func (l *claudeLine) set(key, val []byte) {
	switch string(key) {
	case "type":
		l.typ = plain(val)
	case "subtype":
		l.subtype = plain(val)
	case "uuid":
		l.id = plain(val)
	case "parentUuid":
		l.parent, l.root = plain(val), isNull(val)
	case "logicalParentUuid":
		l.logical = plain(val)
	case "isSidechain":
		l.sidechain = isTrue(val)
	case "isMeta":
		l.meta = isTrue(val)
	case "isCompactSummary":
		l.summary = isTrue(val)
	case "isVisibleInTranscriptOnly":
		l.hidden = isTrue(val)
	case "isApiErrorMessage":
		l.apiError = isTrue(val)
	case "sessionId":
		l.session = val
	case "timestamp":
		l.at = val
	case "version":
		l.version = val
	case "cwd":
		l.cwd = val
	case "gitBranch":
		l.branch = val
	case "permissionMode":
		l.mode = val
	case "agentId":
		l.agent = val
	case "sourceToolAssistantUUID":
		l.source = plain(val)
	case "promptSource":
		l.promptSource = val
	case "message":
		l.message = val
	case "attachment":
		l.attachment = val
	case "toolUseResult":
		l.result = val
	case "compactMetadata":
		l.compact = val
	case "content":
		l.content = val
	case "operation":
		l.operation = val
	case "origin":
		l.origin = val
	case "lastPrompt":
		l.leafPrompt = val
	}
}

// stamp is the record's own time, zero if it has none.
func (l *claudeLine) stamp() time.Time {
	if l.when.IsZero() {
		l.when = parseTime(l.at)
	}
	return l.when
}

func parseTime(raw []byte) time.Time {
	if !isString(raw) {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, string(plain(raw)))
	if err != nil {
		return time.Time{}
	}
	return t
}

// claudeClass is what a line's first bytes tell.
type claudeClass int

const (
	classScan   claudeClass = iota // they don't: scan the line
	classOther                     // a record that is never in the chain; its type is known
	classUnseen                    // a type that this reader doesn't know
)

// classifyClaude looks at `{"type":"..."` only: the records outside the chain,
// among them the longest lines, begin so in every version seen.
func classifyClaude(b []byte) (claudeClass, []byte) {
	const start = `{"type":"`
	if len(b) < len(start) || string(b[:len(start)]) != start {
		return classScan, nil
	}
	rest := b[len(start):]
	end := bytes.IndexByte(rest[:min(len(rest), 64)], '"')
	if end < 0 {
		return classScan, nil
	}
	switch typ := rest[:end]; string(typ) {
	case "user", "assistant", "system", "attachment", "progress":
		return classScan, nil
	case "queue-operation", "permission-mode", "last-prompt":
		return classScan, nil
	default:
		if claudeKnown(typ) {
			return classOther, typ
		}
		return classUnseen, typ
	}
}

// claudeKnown lists the record types outside the chain that were seen, or are
// named in the program.
func claudeKnown(typ []byte) bool {
	switch string(typ) {
	case "queue-operation", "last-prompt", "mode", "permission-mode", "cost-state", "tools-used",
		"api-request", "api-request-shape", "api-request-blob", "atis-latch",
		"file-history-snapshot", "file-history-delta", "summary", "custom-title", "ai-title", "tag",
		"agent-name", "agent-color", "pr-link", "worktree-state", "content-replacement", "task-summary":
		return true
	}
	return false
}

// idKey is a record's id made small: a UUID's 16 bytes, or a hash of another id.
type idKey [16]byte

var idSeed = maphash.MakeSeed()

func keyOf(id []byte) (k idKey) {
	if len(id) == 0 {
		return k
	}
	if len(id) == 36 && uuid(id, &k) {
		return k
	}
	h := maphash.Bytes(idSeed, id)
	k = idKey{15: 1} // never the zero key, which is no id
	for i := range 8 {
		k[i] = byte(h >> (8 * i))
	}
	return k
}

func uuid(id []byte, k *idKey) bool {
	n := 0
	for i, c := range id {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
			continue
		}
		var v byte
		switch {
		case c >= '0' && c <= '9':
			v = c - '0'
		case c >= 'a' && c <= 'f':
			v = c - 'a' + 10
		case c >= 'A' && c <= 'F':
			v = c - 'A' + 10
		default:
			return false
		}
		k[n/2] = k[n/2]<<4 | v
		n++
	}
	return true
}

func hashOf(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	return maphash.Bytes(idSeed, b) | 1
}
