package bridge

import (
	"testing"
	"time"

	"github.com/reseat-dev/reseat/packet/transcript"
)

func TestCompactedAtGoesByTheBoundaryWhereAPacketComesAfterIt(t *testing.T) {
	var (
		kept     = time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
		boundary = kept.Add(time.Minute)
		now      = kept.Add(72 * time.Hour)
		at       = func(offset int64) transcript.Position { return transcript.Position{Offset: offset, Time: boundary} }
		compact  = []transcript.Boundary{{Position: at(500)}}
	)
	for _, test := range []struct {
		name       string
		mechanism  string
		prepared   time.Time
		boundaries []transcript.Boundary
		answer     int64
		want       time.Time
	}{
		{"made before, with an older boundary", ByPreCompact, time.Time{}, compact, 100, now},
		{"made afterwards", ByRescue, time.Time{}, compact, 100, boundary},
		{"made afterwards, the boundary not on disk yet", ByRescue, time.Time{}, compact, 900, now},
		{"made afterwards, no boundary", ByRescue, time.Time{}, nil, 100, now},
		{"made again", byRefresh, kept, compact, 100, boundary},
		{"made again, the work went on", byRefresh, kept, compact, 900, kept},
	} {
		t.Run(test.name, func(t *testing.T) {
			story := &transcript.Story{Boundaries: test.boundaries, Reach: transcript.Reach{LastAnswer: transcript.Position{Offset: test.answer}}}
			got := compactedAt(Job{Mechanism: test.mechanism, Prepared: test.prepared, Now: now}, story)
			if !got.Equal(test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
