package packet

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

func (m *maker) summary(c *Continuity, messages int) *Summary {
	in, d := m.in, c.Declared
	s := &Summary{
		SourceSession: in.Session, SourceRig: rigOf(c.Session.Seat), SourceRuntime: c.Session.Client, SourceCWD: c.Session.CWD,
		TargetRig: in.Origin.TargetRig, TargetRuntime: in.Origin.TargetRuntime, TargetWorkspaceRoot: m.red.path(in.Origin.TargetWorkspaceRoot),
		RolePointer: d.RolePointer,
		Latest:      LatestTranscript{Path: LatestFile, Messages: Count(messages), Bound: Messages},
		Touched:     TouchedFiles{Path: TouchedFile, Top: topPaths(c)},
		Pointers:    d.Pointers, NextOwner: d.NextOwner, AuthorityBoundaries: d.AuthorityBoundaries,
		RedactionPolicy: redactionPolicy[0], TrustRanking: in.Origin.TrustRanking,
		Generator: in.Generator, GeneratedAt: in.Time.Format(timeFormat),
	}
	if in.Origin.SourceRig != "" {
		s.SourceRig = in.Origin.SourceRig
	}
	first(&s.TargetRig, rigOf(c.Session.Seat))
	first(&s.TargetRuntime, s.SourceRuntime)
	if d.DefaultRepo != "" {
		repo := d.DefaultRepo
		s.DefaultTargetRepo = &repo
	}
	if len(s.TrustRanking) == 0 {
		s.TrustRanking = ranking(in.Full != nil)
	}
	s.CurrentWork = m.red.text(c.Work.sentence(c))
	c.Undeclared = s.fillRequired()
	s.Caveats = slices.Concat(d.Caveats, c.Caveats, c.Undeclared)
	s.OmittedClasses = classes(c.Omitted)
	return s
}

// fillRequired puts the words for "not declared" where the contract requires
// something, and says so.
func (s *Summary) fillRequired() (caveats []string) {
	require := func(field *string, value, caveat string) {
		if strings.TrimSpace(*field) == "" {
			*field = value
			caveats = append(caveats, caveat)
		}
	}
	rigless := s.SourceRig == "" && s.TargetRig == ""
	if rigless {
		s.SourceRig, s.TargetRig = Unassigned, Unassigned
		caveats = append(caveats, "no rig was declared: source_rig and target_rig are \""+Unassigned+"\"")
	}
	require(&s.SourceRig, Unassigned, "the source's rig isn't known: source_rig is \""+Unassigned+"\"")
	require(&s.TargetRig, Unassigned, "no target rig was declared: target_rig is \""+Unassigned+"\"")
	require(&s.SourceCWD, "/", "the working directory isn't known: source_cwd is \"/\"")
	require(&s.RolePointer, NoRole, "no role was declared: role_pointer is \""+NoRole+"\"")
	require(&s.AuthorityBoundaries, NoBoundaries, "no limits were declared: authority_boundaries is \""+NoBoundaries+"\"")
	require(&s.NextOwner, Self, "no next owner was declared: next_owner is \""+Self+"\"")
	s.SourceCWD = rooted(s.SourceCWD)
	if s.TargetWorkspaceRoot == "" {
		s.TargetWorkspaceRoot = s.SourceCWD
	}
	s.TargetWorkspaceRoot = rooted(s.TargetWorkspaceRoot)
	return caveats
}

// rooted makes a path begin with "/", as the contract wants of every path
// whatever the system.
func rooted(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}

func ranking(full bool) []string {
	if full {
		return trustRanking
	}
	return slices.DeleteFunc(slices.Clone(trustRanking), func(s string) bool { return s == "full_transcript" })
}

func classes(o Omitted) []string {
	var l []string
	for i, n := range []int64{o.Reasoning, o.ToolOutputs, o.FunctionCalls} {
		if n > 0 {
			l = append(l, omittedClasses[i])
		}
	}
	return l
}

// topPaths are the paths that touched-files.md begins with.
func topPaths(c *Continuity) []TopPath {
	var top []TopPath
	for _, f := range c.touched() {
		if len(top) == maxTop {
			break
		}
		top = append(top, TopPath{f.Path, Count(f.touches())})
	}
	return top
}

// touched is every path of touched-files.md in its order: edited ones first,
// those edited most before the others.
func (c *Continuity) touched() []File {
	edited := slices.Clone(c.Files.Edited)
	sort.SliceStable(edited, func(i, j int) bool { return edited[i].Edits > edited[j].Edits })
	all := append(edited, c.Files.Read...)
	return all[:min(len(all), maxTouched)]
}

// sentence says what is being done and who says so.
func (w Work) sentence(c *Continuity) string {
	switch w.Origin {
	case "plan":
		return "the plan's open item (" + line(c.Plan.Tool) + "): " + quote(w.Text, maxItem)
	case "request":
		return "the latest request: " + quote(w.Text, maxCommand)
	}
	return line(w.Text)
}
