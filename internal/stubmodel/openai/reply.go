package openai

import (
	"encoding/json"
	"fmt"
	"time"
)

// Reply is what the stub answers to one request. The zero value is a short
// text and a small usage.
type Reply struct {
	Text   string // the assistant's text; for a compaction the summary
	Calls  []Call // tool calls, in order; after a text if there is one
	Tokens int64  // input tokens reported as used, 0: DefaultTokens
	Output int64  // output tokens reported, 0: DefaultOutput

	Status int             // an HTTP error instead of an answer, with RetryAfter unset
	Delay  time.Duration   // waited before the answer
	Gate   <-chan struct{} // the answer waits until it is closed
	Hang   bool            // no answer at all; the connection stays open until the client or the server goes
	Cut    bool            // the stream ends before response.completed
}

// What a reply reports as used where it doesn't say.
const (
	DefaultTokens = 1000
	DefaultOutput = 50
)

// Call is a tool call of the model, made for what a request offers.
type Call struct {
	make func(Request, string) map[string]any
}

// item makes the output item of the call with that call id.
func (c Call) item(r Request, callID string) map[string]any { return c.make(r, callID) }

// Shell runs a command line through the shell tool that the client offers:
// exec_command, shell_command or shell.
func Shell(command string) Call {
	return Call{func(r Request, id string) map[string]any {
		offered := r.tools()
		if _, ok := offered["exec_command"]; ok {
			return function(id, "exec_command", "", map[string]any{"cmd": command})
		}
		if _, ok := offered["shell_command"]; ok {
			return function(id, "shell_command", "", map[string]any{"command": command})
		}
		return function(id, "shell", "", map[string]any{"command": []string{"bash", "-lc", command}})
	}}
}

// Patch applies a patch in Codex's own format ("*** Begin Patch ..."), through
// the apply_patch tool, freeform or as a function, or through the shell where
// there is none (an unknown model).
func Patch(patch string) Call {
	return Call{func(r Request, id string) map[string]any {
		offered, ok := r.tools()["apply_patch"]
		switch {
		case ok && offered.kind == "custom":
			return map[string]any{
				"type": "custom_tool_call", "id": "ctc_" + id, "call_id": id, "status": "completed",
				"name": "apply_patch", "input": patch,
			}
		case ok:
			return function(id, "apply_patch", "", map[string]any{"input": patch})
		}
		return Shell("apply_patch <<'END_OF_PATCH'\n"+patch+"\nEND_OF_PATCH\n").item(r, id)
	}}
}

// AddFile is a patch that makes a file with one line of text.
func AddFile(path, line string) Call {
	return Patch("*** Begin Patch\n*** Add File: " + path + "\n+" + line + "\n*** End Patch")
}

// UpdateFile is a patch that replaces one line of a file by another.
func UpdateFile(path, old, replacement string) Call {
	return Patch("*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + old + "\n+" + replacement + "\n*** End Patch")
}

// Step is one step of a plan; its status is "pending", "in_progress" or
// "completed".
type Step struct {
	Step   string `json:"step"`
	Status string `json:"status"`
}

// Plan calls update_plan. Codex 0.171.0 doesn't offer it to every model, but
// answers a call to it all the same.
func Plan(explanation string, steps ...Step) Call {
	return Function("update_plan", map[string]any{"explanation": explanation, "plan": steps})
}

// spawnNamespace is where spawn_agent lives while its tools are deferred: the
// client then accepts the call without a search for it (0.133.0 to 0.171.0).
const spawnNamespace = "multi_agent_v1"

// Spawn starts a subagent with that task. The task becomes the first user
// message of the subagent's own thread.
func Spawn(task string) Call {
	return Call{func(r Request, id string) map[string]any {
		namespace := spawnNamespace
		if offered, ok := r.tools()["spawn_agent"]; ok {
			namespace = offered.namespace
		}
		return function(id, "spawn_agent", namespace, map[string]any{"message": task})
	}}
}

// Function calls a tool by name with these arguments, in the namespace in
// which it is offered.
func Function(name string, arguments any) Call {
	return Call{func(r Request, id string) map[string]any {
		return function(id, name, r.tools()[name].namespace, arguments)
	}}
}

func function(id, name, namespace string, arguments any) map[string]any {
	encoded, err := json.Marshal(arguments)
	if err != nil {
		// Arguments are literals of the caller; what can't be encoded is
		// passed on as text, so that the client's refusal shows it.
		encoded = []byte(fmt.Sprintf("%q", err.Error()))
	}
	item := map[string]any{
		"type": "function_call", "id": "fc_" + id, "call_id": id,
		"name": name, "arguments": string(encoded),
	}
	if namespace != "" {
		item["namespace"] = namespace
	}
	return item
}
