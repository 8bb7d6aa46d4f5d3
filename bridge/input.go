package bridge

import (
	"context"

	"github.com/reseat-dev/reseat/packet"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// Input is what a packet of j would be made from, and in words what couldn't be
// had: for a packet that a person asks for, outside any compaction.
func (p *Packets) Input(ctx context.Context, j Job, story *transcript.Story) (packet.Input, []string, error) {
	return p.input(ctx, j, story)
}

// Options are the bounds of a reading that a packet is to be made of.
func (p *Packets) Options(session string) transcript.Options {
	cfg, _ := p.config()
	return transcript.Options{Session: session, MessageBytes: int(cfg.Limits.MessageBytes) + packet.Overlap}
}
