package stubmodel_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

func TestServerKeepsARequestWholeAndNoKeys(t *testing.T) {
	var log stubmodel.Log[stubmodel.Request]
	server := serve(t, func(_ context.Context, w http.ResponseWriter, req stubmodel.Request) {
		log.Add(req)
		_, _ = io.WriteString(w, "ok")
	})

	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, _ = zip.Write([]byte(`{"a":1}`))
	_ = zip.Close()
	post(t, server.URL()+"/v1/x?beta=true", bytes.NewReader(packed.Bytes()), map[string]string{
		"Content-Encoding": "gzip", "Authorization": "Bearer EXAMPLE", "X-Api-Key": "sk-ant-EXAMPLE", "X-Kept": "yes",
	})
	post(t, server.URL()+"/v1/y", strings.NewReader("plain"), nil)

	got := log.All()
	if len(got) != 2 {
		t.Fatalf("kept %d requests, want 2", len(got))
	}
	if first := got[0]; string(first.Body) != `{"a":1}` || first.Path != "/v1/x?beta=true" || first.N != 1 {
		t.Errorf("first request: %d %s %q", first.N, first.Path, first.Body)
	}
	for _, secret := range []string{"Authorization", "X-Api-Key"} {
		if got[0].Header.Get(secret) != "" {
			t.Errorf("%s was kept", secret)
		}
	}
	if got[0].Header.Get("X-Kept") != "yes" {
		t.Error("an ordinary header was dropped")
	}
	if string(got[1].Body) != "plain" || got[1].N != 2 {
		t.Errorf("second request: %d %q", got[1].N, got[1].Body)
	}
}

func TestCloseEndsARequestThatHangs(t *testing.T) {
	arrived := make(chan struct{})
	server := serve(t, func(ctx context.Context, _ http.ResponseWriter, _ stubmodel.Request) {
		close(arrived)
		if (stubmodel.Reply{Hang: true}).Hold(ctx) {
			t.Error("a hanging reply was to be sent")
		}
	})
	ended := make(chan error, 1)
	go func() {
		response, err := http.Get(server.URL())
		if err == nil {
			err = response.Body.Close()
		}
		ended <- err
	}()
	<-arrived
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the request ended without an error")
	}
}

func TestWaitSeesOldAndNewEntriesAndGivesUpWithTheContext(t *testing.T) {
	var log stubmodel.Log[int]
	log.Add(1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if got, err := log.Wait(ctx, func(n int) bool { return n == 1 }); err != nil || got != 1 {
		t.Errorf("an old entry: %d, %v", got, err)
	}

	found := make(chan int)
	go func() {
		got, _ := log.Wait(ctx, func(n int) bool { return n > 50 })
		found <- got
	}()
	for n := 2; n <= 60; n++ {
		log.Add(n)
	}
	if got := <-found; got != 51 {
		t.Errorf("the first entry that fits: %d, want 51", got)
	}

	gone, stop := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	stop(reason)
	if _, err := log.Wait(gone, func(int) bool { return false }); !errors.Is(err, reason) || !strings.Contains(err.Error(), "none of 60") {
		t.Errorf("giving up: %v", err)
	}
	if got := log.Since(58); len(got) != 2 || got[0] != 59 {
		t.Errorf("since 58: %v", got)
	}
	if got := log.Since(99); len(got) != 0 {
		t.Errorf("since 99: %v", got)
	}
}

func TestMirrorWritesOneLineAnEntryAndTellsItsError(t *testing.T) {
	var log stubmodel.Log[int]
	var lines bytes.Buffer
	log.Mirror(&lines)
	log.Add(7)
	log.Add(8)
	if lines.String() != "7\n8\n" || log.MirrorError() != nil {
		t.Errorf("mirrored %q, %v", lines.String(), log.MirrorError())
	}
	log.Mirror(fullDisk{})
	log.Add(9)
	if !errors.Is(log.MirrorError(), errFull) || log.Len() != 3 {
		t.Errorf("a full disk: %v, %d entries", log.MirrorError(), log.Len())
	}
}

var errFull = errors.New("no space")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestHoldWaitsForItsDelayOrTheContext(t *testing.T) {
	if !stubmodel.Text("now").Hold(t.Context()) {
		t.Error("a reply without delay was held")
	}
	if !stubmodel.Text("soon").After(time.Millisecond).Hold(t.Context()) {
		t.Error("a short delay ended without a reply")
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if stubmodel.Text("late").After(time.Hour).Hold(gone) {
		t.Error("a reply was to be sent to a client that left")
	}
}

func serve(t *testing.T, handle stubmodel.Handler) *stubmodel.Server {
	t.Helper()
	server, err := stubmodel.Serve(handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

func post(t *testing.T, url string, body io.Reader, header map[string]string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
}
