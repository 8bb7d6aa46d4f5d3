package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reseat-dev/reseat/internal/gitstate"
	"github.com/reseat-dev/reseat/packet"
)

// ahead is what a packet needs besides the transcript, got while that is read:
// git is processes to wait for, and the packet before is a file to decode.
type ahead struct {
	repo     string
	git      chan gitstate.State
	previous string
	carried  chan carried
}

type carried struct {
	c   *packet.Continuity
	err error
}

// gitLimit is how long git may take; without it the packet says so.
const gitLimit = 1500 * time.Millisecond

// lookAhead begins, where a packet will be made of what is read.
func (p *Packets) lookAhead(ctx context.Context, j Job) *ahead {
	if j.Mechanism == "" {
		return nil
	}
	a := &ahead{previous: j.Previous}
	cfg, _ := p.config()
	if a.repo = firstOf(cfg.For(j.Seat, j.Event.CWD).DefaultRepo, j.Event.CWD); a.repo != "" {
		a.git = make(chan gitstate.State, 1)
		go func() {
			defer caught(func(fault string) { a.git <- gitstate.State{Note: fault} })
			a.git <- readGit(ctx, a.repo)
		}()
	}
	if a.previous != "" {
		a.carried = make(chan carried, 1)
		go func() {
			defer caught(func(fault string) { a.carried <- carried{err: errors.New(fault)} })
			c, err := packet.ReadContinuity(a.previous)
			a.carried <- carried{c, err}
		}()
	}
	return a
}

// caught tells of a panic, which on a goroutine of its own nobody else recovers.
func caught(tell func(fault string)) {
	if fault := recover(); fault != nil {
		tell(fmt.Sprintf("a fault of reseat: %v", fault))
	}
}

func readGit(ctx context.Context, repo string) gitstate.State {
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	return gitstate.Read(ctx, repo, gitstate.Limits{})
}

// gitOf is where the repository stands.
func (p *Packets) gitOf(ctx context.Context, repo string) gitstate.State {
	if a := p.ahead; a != nil && a.git != nil && a.repo == repo {
		git := <-a.git
		a.git = nil
		return git
	}
	return readGit(ctx, repo)
}

// previousOf is the continuity of the packet before, nil where there is none.
func (p *Packets) previousOf(j Job) (*packet.Continuity, error) {
	if j.Previous == "" {
		return nil, nil
	}
	if a := p.ahead; a != nil && a.carried != nil && a.previous == j.Previous {
		got := <-a.carried
		a.carried = nil
		return got.c, got.err
	}
	return packet.ReadContinuity(j.Previous)
}
