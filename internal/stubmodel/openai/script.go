package openai

import (
	"context"
	"strings"
	"sync"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// Scenes is a script that goes by what was asked: each prompt has its own
// replies, used up one a model request, and compactions have theirs. It doesn't
// depend on the order in which sessions, subagents or versions come. The zero
// value is ready; its methods are safe for concurrent use.
type Scenes struct {
	mu          sync.Mutex
	prompts     []*scene
	compactions []stubmodel.Reply
}

type scene struct {
	key     string
	replies []func(Request) stubmodel.Reply
}

// On adds replies to model requests whose newest matching user message contains
// key. After a compaction in mid-turn the prompt is still among the retained
// messages, so the turn goes on where it was. Used up: an empty reply.
func (s *Scenes) On(key string, replies ...stubmodel.Reply) {
	for _, reply := range replies {
		s.Do(key, func(Request) stubmodel.Reply { return reply })
	}
}

// Do is On for a reply that depends on what the request holds.
func (s *Scenes) Do(key string, reply func(Request) stubmodel.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range s.prompts {
		if known.key == key {
			known.replies = append(known.replies, reply)
			return
		}
	}
	s.prompts = append(s.prompts, &scene{key: key, replies: []func(Request) stubmodel.Reply{reply}})
}

// OnCompaction adds replies to requests for a compaction, in order of arrival.
// Used up: a short summary.
func (s *Scenes) OnCompaction(replies ...stubmodel.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compactions = append(s.compactions, replies...)
}

// Reply is the Script.
func (s *Scenes) Reply(_ context.Context, r Request) stubmodel.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Kind == Compaction {
		reply, _ := next(&s.compactions)
		return reply
	}
	scene := s.newest(r)
	if scene == nil {
		return stubmodel.Reply{}
	}
	reply, ok := next(&scene.replies)
	if !ok {
		return stubmodel.Reply{}
	}
	return reply(r)
}

// newest finds the scene of the latest user message that any key matches; of
// several keys in one message the longest counts.
func (s *Scenes) newest(r Request) *scene {
	prompts := r.Texts("user")
	for n := len(prompts) - 1; n >= 0; n-- {
		var found *scene
		for _, scene := range s.prompts {
			if strings.Contains(prompts[n], scene.key) && (found == nil || len(scene.key) > len(found.key)) {
				found = scene
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// next takes the first of what is left.
func next[T any](left *[]T) (first T, ok bool) {
	if len(*left) == 0 {
		return first, false
	}
	first = (*left)[0]
	*left = (*left)[1:]
	return first, true
}
