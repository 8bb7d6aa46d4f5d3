package redact

import (
	"path"
	"strings"
)

// glob is a pattern of paths, split into components. A floating one has a
// single component and matches at any depth.
type glob struct {
	parts    []string
	floating bool
}

func parseGlob(pattern, home string) (glob, error) {
	p := strings.ReplaceAll(pattern, `\`, "/")
	if rest, ok := strings.CutPrefix(p, "~/"); ok && home != "" {
		p = strings.TrimRight(strings.ReplaceAll(home, `\`, "/"), "/") + "/" + rest
	}
	p = strings.TrimRight(p, "/")
	if p == "" {
		return glob{}, path.ErrBadPattern
	}
	g := glob{parts: strings.Split(p, "/"), floating: !strings.Contains(p, "/")}
	for _, part := range g.parts {
		if _, err := path.Match(part, ""); err != nil {
			return glob{}, err
		}
	}
	return g, nil
}

// match reports whether the glob matches p or a folder that p lies in.
func (g glob) match(p string) bool {
	parts := strings.Split(strings.ReplaceAll(p, `\`, "/"), "/")
	if !g.floating {
		return matchParts(g.parts, parts)
	}
	for _, part := range parts {
		if ok, _ := path.Match(g.parts[0], part); ok && part != "" {
			return true
		}
	}
	return false
}

// matchParts matches the components of a pattern against the first components
// of a path. It is linear in the product of both lengths: "**" is retried only
// from the last one seen.
func matchParts(pattern, parts []string) bool {
	p, s := 0, 0
	star, from := -1, 0
	for p < len(pattern) {
		switch {
		case pattern[p] == "**":
			star, from = p, s
			p++
			continue
		case s < len(parts):
			if ok, _ := path.Match(pattern[p], parts[s]); ok {
				p, s = p+1, s+1
				continue
			}
		}
		if star < 0 || from >= len(parts) {
			return false
		}
		from++
		p, s = star+1, from
	}
	return true
}
