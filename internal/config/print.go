package config

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
)

// Effective writes what is in force, as a configuration that says the same: the
// limits and policies whole, of the rest what was set.
func (c *Config) Effective(w io.Writer) error {
	var b strings.Builder
	writeDeclared(&b, "defaults", c.defaults)
	for _, dir := range slices.Sorted(maps.Keys(c.projects)) {
		writeDeclared(&b, dotted([]string{"project", dir}), c.projects[dir])
	}
	for _, seat := range c.Seats() {
		path := []string{"seat", seat}
		writeDeclared(&b, dotted(path), c.seats[seat])
		own := c.own[seat]
		writeSet(&b, dotted(append(path, "policy")), policyKeys, &own)
	}
	for _, of := range client.All() {
		header(&b, "policy."+string(of))
		p := c.Policy(of, "")
		if p.Reason != "" {
			fmt.Fprintf(&b, "# %s\n", p.Reason)
		}
		for _, k := range policyKeys {
			setting(&b, k.name, value(k.at(&p)))
		}
	}
	writeAll(&b, "limits", limitKeys, &c.Limits)
	writeAll(&b, "redact", redactKeys, &c.Redact)
	writeAll(&b, "plugins", pluginKeys, &c.Plugins)
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

func header(b *strings.Builder, name string) { fmt.Fprintf(b, "\n[%s]\n", name) }

func setting(b *strings.Builder, name, value string) {
	if value == "" {
		fmt.Fprintf(b, "# %s can't be used\n", name)
		return
	}
	fmt.Fprintf(b, "%s = %s\n", name, value)
}

func writeAll[T any](b *strings.Builder, name string, keys []key[T], t *T) {
	header(b, name)
	for _, k := range keys {
		setting(b, k.name, value(k.at(t)))
	}
}

// writeDeclared writes a section of declaredKeys, its pointers last, in a table
// of their own.
func writeDeclared(b *strings.Builder, name string, l layer[Declared]) {
	writeSet(b, name, declaredKeys, &l)
	writeSet(b, name+".pointers", pointerKeys, &l)
}

// writeSet writes those of the keys that a layer sets, and nothing if there are
// none.
func writeSet[T any](b *strings.Builder, name string, keys []key[T], l *layer[T]) {
	begun := false
	for _, k := range keys {
		if !l.has(k.name) {
			continue
		}
		if !begun {
			header(b, name)
			begun = true
		}
		setting(b, k.name, value(k.at(&l.values)))
	}
}

// Sample is a commented configuration with every key and its default. Nothing in
// it is in force: each setting is a comment to be taken out.
func Sample() string {
	var b strings.Builder
	b.WriteString(sampleHead)
	declared := func(name, doc string) {
		title(&b, name, doc)
		sampleKeys(&b, declaredKeys, &Declared{})
		fmt.Fprintf(&b, "\n# [%s.pointers]\n", name)
		sampleKeys(&b, pointerKeys, &Declared{})
	}
	declared("defaults", "What holds for every seat and project that doesn't say otherwise.")
	declared(`project."/home/you/work/app"`, "What holds below a folder. The longest path that a session works in counts.")
	declared(`seat."dev-impl@my-rig"`, "What holds for one seat, whatever the project says.")
	policy := defaultPolicy()
	title(&b, `seat."dev-impl@my-rig".policy`, "A seat's own policy, over that of its client: the keys of [policy.claude].")
	for _, of := range client.All() {
		title(&b, "policy."+string(of), "When seats of "+of.Title()+" are compacted from outside (reseat watch).")
		sampleKeys(&b, policyKeys, &policy)
	}
	c := Default()
	title(&b, "limits", "What is kept at most. Sizes and time spans are texts with a unit.")
	sampleKeys(&b, limitKeys, &c.Limits)
	title(&b, "redact", "What must not get into a packet.")
	sampleKeys(&b, redactKeys, &c.Redact)
	title(&b, "plugins", "Runtime adapters.")
	sampleKeys(&b, pluginKeys, &c.Plugins)
	return b.String()
}

const sampleHead = `## The configuration of reseat, with every key and its default. Take out the "# "
## before a section and a key to set it. It is read from config.toml in the state
## folder if it is there, else from ~/.config/reseat/config.toml, never from a
## project's folder. "reseat config --effective" checks it and shows what is in
## force.
`

func title(b *strings.Builder, name, doc string) {
	b.WriteByte('\n')
	comment(b, doc)
	fmt.Fprintf(b, "# [%s]\n", name)
}

func comment(b *strings.Builder, doc string) {
	for line := range strings.SplitSeq(doc, "\n") {
		fmt.Fprintf(b, "## %s\n", line)
	}
}

func sampleKeys[T any](b *strings.Builder, keys []key[T], defaults *T) {
	for _, k := range keys {
		comment(b, k.doc)
		fmt.Fprintf(b, "# %s = %s\n", k.name, value(k.at(defaults)))
	}
}
