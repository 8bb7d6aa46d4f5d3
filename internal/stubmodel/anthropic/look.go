package anthropic

import (
	"regexp"
	"strings"
)

// Prompt is the last thing that was said to the model in a user's name: the
// last text of the last user message, unless that message only brings tool
// results or reminders of the client; then it is "".
func (r Request) Prompt() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return lastWords(r.Messages[i])
		}
	}
	return ""
}

func lastWords(m Message) string {
	for i := len(m.Parts) - 1; i >= 0; i-- {
		part := m.Parts[i]
		text := strings.TrimSpace(part.Text)
		if part.Type == "text" && text != "" && !strings.HasPrefix(text, "<system-reminder>") {
			return part.Text
		}
	}
	return ""
}

// Texts is every text of the conversation in order, whatever its role: words,
// injected contexts, tool results, thinking. A tool call counts with its input
// as it was encoded.
func Texts(r Request) []string {
	var texts []string
	for _, message := range r.Messages {
		for _, part := range message.Parts {
			if part.Text != "" {
				texts = append(texts, part.Text)
			}
			if len(part.Input) > 0 {
				texts = append(texts, string(part.Input))
			}
		}
	}
	return texts
}

// Occurrences counts how often text stands in the request, over all roles and
// in the system prompt.
func Occurrences(r Request, text string) int {
	n := strings.Count(r.System, text)
	for _, said := range Texts(r) {
		n += strings.Count(said, text)
	}
	return n
}

// Context is one injected hook context.
type Context struct {
	Event string // the hook's event: SessionStart, UserPromptSubmit, ...
	Text  string // up to the next context or the end of the block
	Role  string // of the message it stands in
	Index int    // of that message
}

// contextMark is how Claude Code 2.1.197 to 2.1.332 introduces what a hook
// returned as additionalContext.
var contextMark = regexp.MustCompile(`(?:^|\n)(?:<system-reminder>\n)?([A-Z][A-Za-z]+) hook additional context: `)

// Contexts finds the hook contexts that were injected into the conversation,
// in order. The client may join further sections of its own to the same block:
// they are then part of the last context's Text.
func Contexts(r Request) []Context {
	var found []Context
	for i, message := range r.Messages {
		for _, part := range message.Parts {
			if part.Type != "text" {
				continue
			}
			for _, context := range contextsIn(part.Text) {
				context.Role, context.Index = message.Role, i
				found = append(found, context)
			}
		}
	}
	return found
}

func contextsIn(text string) []Context {
	var found []Context
	marks := contextMark.FindAllStringSubmatchIndex(text, -1)
	for i, mark := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		found = append(found, Context{Event: text[mark[2]:mark[3]], Text: text[mark[1]:end]})
	}
	return found
}

// Results is the tool results of the conversation, in order.
func Results(r Request) []Part {
	var results []Part
	for _, message := range r.Messages {
		for _, part := range message.Parts {
			if part.Type == "tool_result" {
				results = append(results, part)
			}
		}
	}
	return results
}

// ResultOf is the last result of a tool call that fits, whichever order the
// results came in: calls of one message may end in any.
func ResultOf(r Request, fits func(call Part) bool) (result Part, found bool) {
	fitting := map[string]bool{}
	for _, message := range r.Messages {
		for _, part := range message.Parts {
			switch {
			case part.Type == "tool_use" && fits(part):
				fitting[part.ID] = true
			case part.Type == "tool_result" && fitting[part.ID]:
				result, found = part, true
			}
		}
	}
	return result, found
}
