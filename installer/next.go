package installer

import (
	"fmt"
	"slices"

	"github.com/reseat-dev/reseat/internal/client"
)

// next is what a person has to know or do after a plan was carried out.
func (p *Plan) next() []string {
	var list []string
	for _, c := range client.All() {
		if changes := p.of(c); len(changes) > 0 {
			list = append(list, p.nextFor(c, changes)...)
		}
	}
	return list
}

func (p *Plan) of(c client.Client) (list []Change) {
	for _, change := range p.Changes {
		if change.Client == c {
			list = append(list, change)
		}
	}
	return list
}

func (p *Plan) nextFor(c client.Client, changes []Change) []string {
	if p.Uninstall {
		if c == client.Codex && slices.ContainsFunc(changes, func(c Change) bool { return c.Action != ActionNone }) {
			return []string{"Codex: sessions that run keep the hooks until they end."}
		}
		return nil
	}
	var list []string
	switch c {
	case client.Claude:
		list = append(list, "Claude Code: the hooks apply at once, in sessions that run already too.")
	case client.Codex:
		list = append(list, "Codex: the hooks apply in new sessions only.")
		if approved(changes) {
			list = append(list, "Codex: the hooks are approved; nothing is left to do there.")
		} else {
			list = append(list, "Codex runs a hook only after you approved it: start codex and choose to review or trust the new hooks "+
				"when it asks, or type /hooks; or run reseat install --trust-hooks. Until then it skips them in silence.")
		}
	}
	if p.options.scope() == Project {
		list = append(list, fmt.Sprintf("%s: commit the file; everyone who works here needs reseat's programs in PATH.", c.Title()))
		if c == client.Codex {
			list = append(list, "Codex: project hooks also need the project to be trusted (Codex asks when it starts there).")
		}
	}
	return list
}

func approved(changes []Change) bool {
	for _, change := range changes {
		if len(change.Approvals) > 0 {
			return true
		}
	}
	return false
}
