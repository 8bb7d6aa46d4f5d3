package anthropic

import "github.com/reseat-dev/reseat/internal/stubmodel"

// The tools of Claude Code that scripts use, with the inputs that 2.1.197 to
// 2.1.332 accept.

// Write calls the Write tool.
func Write(path, content string) stubmodel.Call {
	return stubmodel.Call{Name: "Write", Input: object{"file_path": path, "content": content}}
}

// Edit calls the Edit tool. The client refuses it for a file that wasn't read.
func Edit(path, old, replacement string) stubmodel.Call {
	return stubmodel.Call{Name: "Edit", Input: object{"file_path": path, "old_string": old, "new_string": replacement}}
}

// Read calls the Read tool.
func Read(path string) stubmodel.Call {
	return stubmodel.Call{Name: "Read", Input: object{"file_path": path}}
}

// Bash calls the Bash tool.
func Bash(command string) stubmodel.Call {
	return stubmodel.Call{Name: "Bash", Input: object{"command": command, "description": "run a command"}}
}

// Agent spawns a subagent.
func Agent(description, prompt string) stubmodel.Call {
	return stubmodel.Call{Name: "Agent", Input: object{
		"description": description, "prompt": prompt, "subagent_type": "general-purpose",
	}}
}

// BackgroundAgent spawns a subagent that its turn doesn't wait for.
func BackgroundAgent(description, prompt string) stubmodel.Call {
	return stubmodel.Call{Name: "Agent", Input: object{
		"description": description, "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": true,
	}}
}
