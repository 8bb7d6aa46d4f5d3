package bridge

import (
	"os"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
)

func TestATraceOfAnUnknownFormIsNoLoss(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.compact()
		if d.client == client.Codex {
			printed, _ := d.start(hooks.SourceCompact)
			wantOne(t, printed)
			d.write(d.codexRecord("injected_item", m{"text": printed}))
		} else {
			d.renameTrace()
		}
		wantNone(t, d.talk())
		wantNone(t, d.talk())
		d.wantStates(Emitted1)
	})
}

// renameTrace makes every injected context in the transcript one of a type that
// nobody knows.
func (d *desk) renameTrace() {
	d.t.Helper()
	data, err := os.ReadFile(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	renamed := strings.ReplaceAll(string(data), `"hook_additional_context"`, `"hook_context_of_the_future"`)
	if err := os.WriteFile(d.path, []byte(renamed), 0o600); err != nil {
		d.t.Fatal(err)
	}
}
