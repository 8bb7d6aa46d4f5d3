package claude

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/tidwall/gjson"
)

// maxRecord is the longest line of a transcript that is looked into here; the
// records of interest are short, images and snapshots aren't.
const maxRecord = 64 << 10

// commandEnded is how a slash command ended, as the transcript tells it.
type commandEnded struct {
	found bool
	text  string // what the client printed
}

// compactEnded looks for the end of a /compact beyond offset. Seen from 2.1.197
// to 2.1.332: a user record with <command-name>/compact</command-name>, then a
// system record of subtype local_command (2.1.197: a user record) with
// <local-command-stdout> or <local-command-stderr>.
func compactEnded(path string, offset int64) commandEnded {
	f, err := os.Open(path)
	if err != nil {
		return commandEnded{}
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return commandEnded{}
	}
	return scanCompactEnded(f)
}

func scanCompactEnded(in io.Reader) commandEnded {
	r := bufio.NewReaderSize(in, maxRecord)
	asked := false
	var ended commandEnded
	for {
		line, err := r.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		if err != nil {
			return ended // the last line may still be being written
		}
		if long || !bytes.Contains(line, []byte("command-")) || !gjson.ValidBytes(line) {
			continue
		}
		record := gjson.ParseBytes(line)
		text := recordText(record)
		switch {
		case record.Get("isSidechain").Bool():
		case strings.Contains(text, "<command-name>/compact</command-name>"):
			asked, ended = true, commandEnded{}
		case asked:
			if said, ok := localOutput(text); ok {
				ended = commandEnded{found: true, text: said}
			}
		}
	}
}

func recordText(record gjson.Result) string {
	if record.Get("type").Str == "system" {
		return record.Get("content").String()
	}
	content := record.Get("message.content")
	if content.IsArray() {
		return content.Get("0.text").String()
	}
	return content.String()
}

// localOutput takes what a local command printed out of its wrapping.
func localOutput(text string) (said string, ok bool) {
	for _, stream := range []string{"stdout", "stderr"} {
		open, end := "<local-command-"+stream+">", "</local-command-"+stream+">"
		if _, rest, found := strings.Cut(text, open); found {
			said, _, _ = strings.Cut(rest, end)
			return stripEscapes(said), true
		}
	}
	return "", false
}

// stripEscapes drops the SGR sequences with which the client colours output.
func stripEscapes(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := strings.IndexFunc(after, func(r rune) bool { return r >= 0x40 && r <= 0x7e })
		if end < 0 {
			return b.String()
		}
		s = after[end+1:]
	}
}

// postTokens is how many tokens a boundary record says are left, 0 if it
// doesn't.
func postTokens(path string, offset int64) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	line, err := bufio.NewReader(io.NewSectionReader(f, offset, maxRecord)).ReadBytes('\n')
	if err != nil || !gjson.ValidBytes(line) {
		return 0
	}
	return max(0, gjson.GetBytes(line, "compactMetadata.postTokens").Int())
}
