package console_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/console"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/store/memstore"
)

// TestTokensAreFollowed: a token that goes, or has another role, loses its access and its sessions; other sessions go on.
// A file that cannot be used changes nothing.
func TestTokensAreFollowed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) { noError(t, os.WriteFile(file, []byte(text), 0o600)) }
	const alice, robin = "alice " + aliceToken + "\n", "robin " + robinToken
	write(alice + robin)
	guard := must.Get(semel.New(memstore.New(nil), &semel.Options{SweepEvery: -1}))
	t.Cleanup(func() { noError(t, guard.Close()) })
	var lines strings.Builder // written while the test waits
	api := must.Get(adminapi.New(guard, &adminapi.Options{Tokens: must.Get(adminapi.LoadTokens(file)), Logger: slog.New(slog.NewTextHandler(&lines, nil))}))
	server := httptest.NewServer(must.Get(console.New(guard, console.Options{API: api})))
	t.Cleanup(server.Close)
	w := &world{guard: guard, url: server.URL}

	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	var following sync.WaitGroup
	following.Go(func() { api.Follow(ctx, file, asked) })
	t.Cleanup(func() { cancel(); following.Wait() })
	look := func() { // the second question is taken when the first is answered
		asked <- struct{}{}
		asked <- struct{}{}
	}
	want := func(when string, b *browser, in bool) {
		t.Helper()
		if _, page := b.get("/console/"); strings.Contains(page, "Overview") != in {
			t.Errorf("%s: the session goes on: %v, want %v", when, !in, in)
		}
	}
	wantCall := func(when, token string, status int) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/records", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		if api.ServeHTTP(answer, r); answer.Code != status {
			t.Errorf("%s: the API answers %d, want %d", when, answer.Code, status)
		}
	}

	a, r := w.logIn(t, aliceToken), w.logIn(t, robinToken)
	const other = "robin-fedcba9876543210fedcba9876543210"
	write(alice + "robin " + other)
	look()
	want("robin has another token", a, true)
	want("robin has another token", r, false)
	wantCall("robin's former token", robinToken, http.StatusUnauthorized)
	wantCall("robin's token", other, http.StatusOK)

	r = w.logIn(t, other)
	for when, text := range map[string]string{"empty": "", "cut off": "alice " + aliceToken[:9], "twice": alice + alice} {
		write(text)
		look()
		want(when, a, true)
		want(when, r, true)
	}
	if n := strings.Count(lines.String(), "the former ones are in force"); n != 3 {
		t.Errorf("the log says %d times that the file cannot be used, want 3:\n%s", n, lines.String())
	}

	write("alice " + aliceToken + " read\n")
	look()
	want("alice may only look", a, false)
	want("robin has gone", r, false)
	write(alice + "robin " + other)
	look()
	want("alice may do everything again", a, false)
	want("robin is back", r, false)
	want("robin has logged in anew", w.logIn(t, other), true)
	if strings.Contains(lines.String(), aliceToken) {
		t.Errorf("the log has a token:\n%s", lines.String())
	}
}
