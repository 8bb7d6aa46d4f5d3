package installer

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator draws random configurations and counts the shapes it drew.
type generator struct {
	*rand.Rand
	drawn map[string]int
	// style of the file that is being drawn
	nl, unit string
	wild     bool
	n        int // makes names unique
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 1)), drawn: map[string]int{}}
}

func (g *generator) saw(shape string) { g.drawn[shape]++ }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) name() string {
	g.n++
	return fmt.Sprintf("%s%d", pick(g, "key", "aB", "x-y_", "z"), g.n)
}

func (g *generator) newStyle() {
	g.nl, g.unit, g.wild = "\n", pick(g, "  ", "    ", "\t", " ", ""), g.chance(15)
	if g.chance(30) {
		g.nl = "\r\n"
		g.saw("CRLF")
	}
}

// jsonNode is a value to be written; raw is the text of a scalar.
type jsonNode struct {
	raw     string
	open    string
	members []jsonMember
}

type jsonMember struct {
	name  string // the text of the name, quotes included; empty in an array
	value jsonNode
}

func scalar(raw string) jsonNode               { return jsonNode{raw: raw} }
func obj(members ...jsonMember) jsonNode       { return jsonNode{open: "{", members: members} }
func named(name string, v jsonNode) jsonMember { return jsonMember{`"` + name + `"`, v} }

func arr(items ...jsonNode) jsonNode {
	n := jsonNode{open: "["}
	for _, v := range items {
		n.members = append(n.members, jsonMember{"", v})
	}
	return n
}

// json draws a settings.json.
func (g *generator) json() []byte {
	g.newStyle()
	minified := g.chance(15)
	if minified {
		g.saw("minified")
	}
	var top []jsonMember
	for range g.IntN(4) {
		top = append(top, g.otherMember(0))
	}
	if g.chance(60) {
		top = append(top, named(pick(g, "hooks", "hooks", `\u0068ooks`), g.jsonHooks()))
	}
	if g.chance(50) {
		top = append(top, named("permissions", g.jsonPermissions()))
	}
	if g.chance(10) {
		top = append(top, named("disableAllHooks", scalar("false")))
	}
	for range g.IntN(3) {
		top = append(top, g.otherMember(0))
	}
	if g.chance(25) && len(top) > 0 {
		g.saw("duplicate names off our path")
		double := g.otherMember(2)
		top = append(top, double, jsonMember{double.name, g.jsonValue(2)})
	}
	g.Shuffle(len(top), func(i, j int) { top[i], top[j] = top[j], top[i] })
	if g.chance(8) {
		top = nil
		g.saw("empty object")
	}
	var b strings.Builder
	if g.chance(15) {
		b.WriteString(bom)
		g.saw("byte order mark")
	}
	if g.chance(5) {
		b.WriteString(g.nl)
	}
	g.writeJSON(&b, obj(top...), "", minified)
	if g.chance(75) {
		b.WriteString(g.nl)
	} else {
		g.saw("no final newline")
	}
	return []byte(b.String())
}

func (g *generator) otherMember(depth int) jsonMember {
	name := g.name()
	if g.chance(10) {
		name = pick(g, `caf\u00e9`, "日本語", `a\"b`, `tab\there`, "") + fmt.Sprint(g.n)
		g.saw("odd names")
	}
	return named(name, g.jsonValue(depth))
}

func (g *generator) jsonValue(depth int) jsonNode {
	if depth < 4 && g.chance(40) {
		if depth > 1 {
			g.saw("nesting")
		}
		var list []jsonMember
		if g.chance(50) {
			for range g.IntN(4) {
				list = append(list, g.otherMember(depth+1))
			}
			return obj(list...)
		}
		n := arr()
		for range g.IntN(4) {
			n.members = append(n.members, jsonMember{"", g.jsonValue(depth + 1)})
		}
		return n
	}
	if g.chance(25) {
		g.saw("odd numbers")
		return scalar(pick(g, "9007199254740993", "1.0", "-0", "1e5", "-0.0E+10", "123456789012345678901234567890"))
	}
	if g.chance(25) {
		g.saw("odd strings")
		return scalar(pick(g, `"a && b > /dev/null"`, `"<&>"`, `"\ud83d"`, `"\u2028 \/ \\ \""`, `"// not a comment"`, `"{[}],:"`, "\"\u2028\"", `"é日本"`))
	}
	return scalar(pick(g, "true", "false", "null", "0", "42", `"text"`, `""`))
}

func (g *generator) jsonPermissions() jsonNode {
	var list []jsonMember
	rules := func() jsonNode {
		n := arr()
		for range g.IntN(4) {
			n.members = append(n.members, jsonMember{"", scalar(pick(g, `"Bash(ls:*)"`, `"Read(~/**)"`, `"WebFetch"`))})
		}
		return n
	}
	if g.chance(60) {
		list = append(list, named("allow", rules()))
	}
	if g.chance(50) {
		list = append(list, named("deny", rules()))
	}
	if g.chance(30) {
		list = append(list, named("defaultMode", scalar(`"plan"`)))
	}
	if len(list) == 0 {
		g.saw("empty container on our path")
	}
	return obj(list...)
}

func (g *generator) jsonHooks() jsonNode {
	var list []jsonMember
	for _, event := range []string{"PreCompact", "Stop", "SessionStart", "UserPromptSubmit", "PreToolUse", "PostCompact"} {
		if !g.chance(45) {
			continue
		}
		groups := arr()
		for range g.IntN(3) {
			groups.members = append(groups.members, jsonMember{"", g.jsonGroup()})
		}
		if len(groups.members) == 0 {
			g.saw("empty container on our path")
		}
		list = append(list, named(event, groups))
	}
	if len(list) == 0 {
		g.saw("empty container on our path")
	}
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return obj(list...)
}

func (g *generator) jsonGroup() jsonNode {
	g.saw("foreign hooks")
	handlers := arr()
	commands := []string{`"other --flag"`, `"\"$HOME\"/.local/bin/reseat-directive-old --runtime claude"`, `"echo reseat-precompact"`, `"a && b"`}
	var members []jsonMember
	if g.chance(40) {
		members = append(members, named("matcher", scalar(pick(g, `""`, `"*"`, `"Bash"`, `"startup|resume"`))))
	} else if g.chance(30) {
		// The user's own use of our program, under a matcher of theirs.
		g.saw("own program under another matcher")
		members = append(members, named("matcher", scalar(`"manual"`)))
		commands = []string{`"\"$HOME\"/.local/bin/reseat-precompact --runtime claude"`}
	}
	for range 1 + g.IntN(2) {
		h := []jsonMember{named("type", scalar(`"command"`)), named("command", scalar(pick(g, commands...)))}
		if g.chance(40) {
			h = append(h, named("timeout", scalar(pick(g, "5", "1.5", "600"))))
		}
		if g.chance(10) {
			h = append(h, g.otherMember(3))
		}
		g.Shuffle(len(h), func(i, j int) { h[i], h[j] = h[j], h[i] })
		handlers.members = append(handlers.members, jsonMember{"", obj(h...)})
	}
	members = append(members, named("hooks", handlers))
	if g.chance(10) {
		members = append(members, g.otherMember(3))
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return obj(members...)
}

func (g *generator) writeJSON(b *strings.Builder, n jsonNode, indent string, flat bool) {
	if n.open == "" {
		b.WriteString(n.raw)
		return
	}
	closing := map[string]string{"{": "}", "[": "]"}[n.open]
	b.WriteString(n.open)
	flat = flat || g.chance(10)
	for i, m := range n.members {
		if i > 0 {
			b.WriteString(g.gap("") + ",")
		}
		if flat {
			b.WriteString(g.gap(strings.Repeat(" ", min(i, g.IntN(2)))))
		} else {
			b.WriteString(g.gap(g.nl + indent + g.unit))
		}
		if m.name != "" {
			b.WriteString(m.name + g.gap("") + ":" + g.gap(" "))
		}
		g.writeJSON(b, m.value, indent+g.unit, flat)
	}
	switch {
	case len(n.members) > 0 && !flat:
		b.WriteString(g.gap(g.nl + indent))
	case len(n.members) == 0 && g.chance(30):
		b.WriteString(pick(g, " ", g.nl, g.nl+indent, "\t"))
	}
	b.WriteString(closing)
}

// gap is white space: the usual one, or in a wild file any.
func (g *generator) gap(usual string) string {
	if !g.wild || g.chance(50) {
		return usual
	}
	g.saw("wild white space")
	return pick(g, "", " ", "\t", g.nl, "  "+g.nl+" ")
}

// toml draws a config.toml.
func (g *generator) toml() []byte {
	g.newStyle()
	var b strings.Builder
	if g.chance(15) {
		b.WriteString(bom)
		g.saw("byte order mark")
	}
	for range g.IntN(5) {
		g.comment(&b)
		b.WriteString(g.tomlPair(0) + g.eol())
	}
	features := g.IntN(5)
	switch features {
	case 0:
		b.WriteString("features.hooks = true" + g.eol())
		g.saw("dotted keys")
	case 1:
		b.WriteString(`features = { hooks = true, "x y" = 1 }` + g.eol())
		g.saw("inline tables")
	}
	sections := []func(*strings.Builder){}
	if features == 2 {
		sections = append(sections, func(b *strings.Builder) {
			b.WriteString(pick(g, "[features]", "[ features ]", `["features"]`, "['features']") + g.eol() + "hooks = true" + g.eol())
		})
	}
	for range g.IntN(4) {
		sections = append(sections, g.tomlSection)
	}
	for _, event := range []string{"PreCompact", "Stop", "SessionStart", "UserPromptSubmit", "PreToolUse", "PostCompact"} {
		if g.chance(30) {
			sections = append(sections, func(b *strings.Builder) { g.tomlGroups(b, event) })
		}
	}
	if g.chance(30) {
		sections = append(sections, g.tomlStates)
	}
	g.Shuffle(len(sections), func(i, j int) { sections[i], sections[j] = sections[j], sections[i] })
	for _, section := range sections {
		if g.chance(80) {
			b.WriteString(g.nl)
		}
		g.comment(&b)
		section(&b)
	}
	g.comment(&b)
	file := b.String()
	if g.chance(25) {
		g.saw("no final newline")
		file = strings.TrimRight(file, "\r\n")
	}
	return []byte(file)
}

func (g *generator) eol() string {
	if g.chance(15) {
		g.saw("comments")
		return pick(g, " # why", "\t#", " # [not.a.table] = \"x\"") + g.nl
	}
	return g.nl
}

func (g *generator) comment(b *strings.Builder) {
	if g.chance(25) {
		g.saw("comments")
		b.WriteString(pick(g, "# a remark", "#", `# [[hooks.PreCompact]]`, "  # 日本 'quote") + g.nl)
	}
}

func (g *generator) tomlKey() string {
	name := g.name()
	switch g.IntN(6) {
	case 0:
		g.saw("quoted keys")
		return `"` + name + ` \" é"`
	case 1:
		g.saw("quoted keys")
		return "'" + name + ".x'"
	case 2:
		g.saw("dotted keys")
		return name + pick(g, ".", " . ") + g.name()
	}
	return name
}

func (g *generator) tomlPair(depth int) string {
	return g.tomlKey() + pick(g, " = ", "=", "\t=  ") + g.tomlValue(depth)
}

func (g *generator) tomlValue(depth int) string {
	if depth < 3 && g.chance(25) {
		if depth > 0 {
			g.saw("nesting")
		}
		if g.chance(50) {
			g.saw("inline tables")
			var pairs []string
			for range g.IntN(3) {
				pairs = append(pairs, g.tomlPair(depth+1))
			}
			return "{" + pick(g, "", " ") + strings.Join(pairs, ", ") + " }"
		}
		var b strings.Builder
		b.WriteString("[")
		for range g.IntN(4) {
			b.WriteString(g.nl + "  " + g.tomlValue(depth+1) + "," + pick(g, "", " # [x]"))
		}
		return b.String() + g.nl + "]"
	}
	return pick(g, "true", "1_000", "-0.0", "nan", "inf", "0xFF", "1979-05-27T07:32:00-08:00", "1979-05-27", "07:32:00",
		`"a && b \u00e9 # no comment"`, `'C:\x'`, "'''"+g.nl+"[[hooks.PreCompact]]"+g.nl+"'''", `"""a \""" b"""`, `""`)
}

func (g *generator) tomlSection(b *strings.Builder) {
	header := g.name()
	if g.chance(30) {
		header += "." + g.tomlKey()
	}
	if g.chance(40) {
		g.saw("arrays of tables")
		for range 1 + g.IntN(2) {
			fmt.Fprintf(b, "[[%s]]%s%s%s", header, g.eol(), g.unit+g.tomlPair(1), g.eol())
		}
		return
	}
	fmt.Fprintf(b, "[%s]%s", header, g.eol())
	for range g.IntN(3) {
		b.WriteString(g.unit + g.tomlPair(1) + g.eol())
	}
}

func (g *generator) tomlGroups(b *strings.Builder, event string) {
	for range 1 + g.IntN(2) {
		g.saw("foreign hooks")
		g.saw("arrays of tables")
		fmt.Fprintf(b, "[[%s]]%s", pick(g, "hooks."+event, " hooks . "+event+" ", `"hooks".'`+event+`'`), g.eol())
		commands := []string{`"other"`, `'"$HOME"/bin/reseat-directive-old --runtime codex'`, `"echo reseat-precompact"`}
		switch g.IntN(3) {
		case 0:
			b.WriteString(g.unit + `matcher = "*"` + g.eol())
		case 1:
			g.saw("own program under another matcher")
			b.WriteString(g.unit + `matcher = "manual"` + g.eol())
			commands = []string{`'"$HOME"/.local/bin/reseat-precompact --runtime codex'`}
		}
		if g.chance(20) {
			fmt.Fprintf(b, "hooks = [{ type = \"command\", command = %s }]%s", pick(g, commands...), g.eol())
			continue
		}
		for range 1 + g.IntN(2) {
			fmt.Fprintf(b, "[[hooks.%s.hooks]]%stype = \"command\"%scommand = %s%s", event, g.eol(), g.eol(), pick(g, commands...), g.eol())
			if g.chance(30) {
				b.WriteString("timeout = 7" + g.eol())
			}
		}
	}
}

func (g *generator) tomlStates(b *strings.Builder) {
	g.saw("approvals")
	if g.chance(30) {
		b.WriteString("[hooks.state]" + g.eol())
		b.WriteString(`"/home/u/.codex/config.toml:stop:0:0" = { trusted_hash = "sha256:00" }` + g.eol())
		return
	}
	for _, event := range []string{"pre_compact", "session_start", "stop"} {
		fmt.Fprintf(b, "[hooks.state.\"/home/u/.codex/config.toml:%s:0:0\"]%strusted_hash = \"sha256:00\"%s", event, g.eol(), g.eol())
	}
}
