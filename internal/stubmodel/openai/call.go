package openai

import (
	"encoding/json"
	"fmt"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// command and patch are inputs of calls whose tool differs from client to
// client: which one it is, and its arguments, follow from what the request
// offers.
type (
	command string
	patch   string
)

// Shell runs a command line with the shell tool that the request offers:
// exec_command, shell_command or shell.
func Shell(line string) stubmodel.Call {
	return stubmodel.Call{Name: "shell", Input: command(line)}
}

// Patch applies a patch in Codex's own format ("*** Begin Patch ...") with the
// apply_patch tool, freeform or function, or in the shell where it isn't
// offered (a model that the client doesn't know).
func Patch(text string) stubmodel.Call {
	return stubmodel.Call{Name: "apply_patch", Input: patch(text)}
}

// AddFile is the patch that makes a file of one line.
func AddFile(path, line string) stubmodel.Call {
	return Patch("*** Begin Patch\n*** Add File: " + path + "\n+" + line + "\n*** End Patch")
}

// UpdateFile is the patch that replaces one line of a file.
func UpdateFile(path, old, replacement string) stubmodel.Call {
	return Patch("*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + old + "\n+" + replacement + "\n*** End Patch")
}

// Step is one step of a plan.
type Step struct {
	Step   string `json:"step"`
	Status string `json:"status"` // "pending", "in_progress" or "completed"
}

// Plan calls update_plan. (0.171.0 doesn't offer it to every model.)
func Plan(explanation string, steps ...Step) stubmodel.Call {
	return stubmodel.Call{
		Name:  "update_plan",
		Input: map[string]any{"explanation": explanation, "plan": steps},
	}
}

// Spawn starts a subagent. Its task becomes the first user message of the
// subagent's own thread.
func Spawn(task string) stubmodel.Call {
	return stubmodel.Call{Name: spawnAgent, Input: map[string]any{"message": task}}
}

const (
	spawnAgent = "spawn_agent"
	// spawnNamespace is where spawn_agent lives. A request offers it only
	// after a tool search, but the client runs a call without one.
	spawnNamespace = "multi_agent_v1"
)

// item makes the output item of a call, in the form in which the request
// offers the tool.
func item(c stubmodel.Call, r Request, id string) (map[string]any, error) {
	if c.ID != "" {
		id = c.ID
	}
	offered := r.tools()
	switch input := c.Input.(type) {
	case command:
		return shellItem(string(input), offered, id)
	case patch:
		return patchItem(string(input), offered, id)
	}
	namespace := offered[c.Name].namespace
	if _, ok := offered[c.Name]; !ok && c.Name == spawnAgent {
		namespace = spawnNamespace
	}
	return functionItem(id, c.Name, namespace, c.Input)
}

func shellItem(line string, offered map[string]tool, id string) (map[string]any, error) {
	if _, ok := offered["exec_command"]; ok {
		return functionItem(id, "exec_command", "", map[string]any{"cmd": line})
	}
	if _, ok := offered["shell_command"]; ok {
		return functionItem(id, "shell_command", "", map[string]any{"command": line})
	}
	return functionItem(id, "shell", "", map[string]any{"command": []string{"bash", "-lc", line}})
}

func patchItem(text string, offered map[string]tool, id string) (map[string]any, error) {
	switch t, ok := offered["apply_patch"]; {
	case ok && t.kind == "custom":
		return map[string]any{
			"type": "custom_tool_call", "id": "ctc_" + id, "call_id": id, "status": "completed",
			"name": "apply_patch", "input": text,
		}, nil
	case ok:
		return functionItem(id, "apply_patch", "", map[string]any{"input": text})
	}
	return shellItem("apply_patch <<'END_OF_PATCH'\n"+text+"\nEND_OF_PATCH\n", offered, id)
}

func functionItem(id, name, namespace string, input any) (map[string]any, error) {
	arguments, err := encode(input)
	if err != nil {
		return nil, fmt.Errorf("encoding the arguments of a call of %s: %w", name, err)
	}
	item := map[string]any{
		"type": "function_call", "id": "fc_" + id, "call_id": id,
		"name": name, "arguments": arguments,
	}
	if namespace != "" {
		item["namespace"] = namespace
	}
	return item, nil
}

// encode follows stubmodel.Call: a string or a raw message stands as it is.
func encode(input any) (string, error) {
	switch v := input.(type) {
	case string:
		return v, nil
	case json.RawMessage:
		return string(v), nil
	}
	encoded, err := json.Marshal(input)
	return string(encoded), err
}
