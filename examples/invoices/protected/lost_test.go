package protected_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/examples/invoices/protected"
)

// TestRestart: forms and keys outlive the process.
func TestRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "invoices.db")
	jar, err := cookiejar.New(nil)
	must(t, err)
	start := func() (*protected.App, *visitor) {
		app, err := protected.Open(path, nil)
		must(t, err)
		person := serveHere(app)
		person.client.Jar = jar
		person.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		return app, person
	}
	app, person := start()
	sent := person.fill(t, "/invoices/new", invoiceForm())
	shown := person.fill(t, "/invoices/new", invoiceForm())
	first := sent.send(t).where()
	must(t, app.Close())

	app, person = start()
	sent.by, shown.by = person, person
	if again := sent.send(t).where(); again == "" || again != first {
		t.Errorf("the form that was sent before led to %q, then %q", first, again)
	}
	if got := shown.send(t); got.StatusCode != http.StatusSeeOther || got.where() == first {
		t.Errorf("the form that was shown before: got %d to %q", got.StatusCode, got.where())
	}
	must(t, app.Close())
}

// childDatabase names the database of a child process that is to be killed.
const childDatabase = "SEMEL_TEST_INVOICES_DATABASE"

// serveUntilKilled is the child: it prints its address and serves.
func serveUntilKilled(ctx context.Context, path string) {
	app, err := protected.Open(path, nil) //nolint:contextcheck // Open does not take one; it bounds itself
	if err != nil {
		panic(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintln(os.Stdout, "http://"+listener.Addr().String())
	server := &http.Server{Handler: app.Handler(), ReadHeaderTimeout: time.Minute}
	panic(server.Serve(listener))
}

// TestKilledAtAnyInstant: after kill -9 the rows, the messages and the recorded
// answer are all there or none is, and the retry makes it one (promises 3, 4).
func TestKilledAtAnyInstant(t *testing.T) {
	t.Parallel()
	const kills = 6
	path := filepath.Join(t.TempDir(), "invoices.db")
	invoices := 0
	for kill := range kills {
		wanted := createUntilKilled(t, path, kill)
		app, err := protected.Open(path, nil)
		must(t, err)
		program := serveHere(app)
		for _, key := range wanted { // what was answered, and the one that was under way
			if got := program.mustCall(t, "/api/invoices", key, invoiceJSON); got.StatusCode != http.StatusCreated {
				t.Fatalf("retry: got %d: %s", got.StatusCode, got.text)
			}
		}
		invoices += len(wanted)
		must(t, app.Close())
		checkWhole(t, path, invoices)
	}
}

// serveHere serves without a network, in the child's name: the host is part of
// the scope.
func serveHere(app *protected.App) *visitor {
	return &visitor{at: "http://invoices.test", client: &http.Client{Transport: direct{app.Handler()}}}
}

// direct hands requests to a handler.
type direct struct{ handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	r = r.Clone(r.Context())
	for name, values := range r.Header { // as a server reads them
		delete(r.Header, name)
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	d.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// createUntilKilled creates invoices in a child process, kills it somewhere, and
// returns the keys that were sent.
func createUntilKilled(t *testing.T, path string, round int) []string {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childDatabase+"="+path)
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the child says nothing: %v", err)
	}
	to, err := url.Parse(strings.TrimSpace(address))
	must(t, err)
	dial := &net.Dialer{}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dial.DialContext(ctx, network, to.Host)
	}}
	program := &visitor{at: "http://invoices.test", client: &http.Client{Transport: transport}}

	var sent []string
	killed := make(chan struct{})
	enough := 3 + rand.IntN(20)
	within := time.Duration(rand.Int64N(int64(time.Millisecond)))
	for n := 0; ; n++ {
		key := fmt.Sprintf("round-%d-%d", round, n)
		sent = append(sent, key)
		if n == enough {
			time.AfterFunc(within, func() { _ = child.Process.Kill(); close(killed) })
		}
		if _, err := program.call(t.Context(), "/api/invoices", key, invoiceJSON); err != nil {
			break
		}
	}
	<-killed
	if exit, ok := errors.AsType[*exec.ExitError](child.Wait()); !ok || exit.Exited() {
		t.Fatalf("the child ended before it was killed: %v", exit)
	}
	return sent
}

// checkWhole compares everything that a create leaves.
func checkWhole(t *testing.T, path string, invoices int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	for _, table := range []string{"invoices", "emails", "accounting", "semel_record"} {
		var got int
		must(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&got))
		if got != invoices {
			t.Errorf("%s has %d rows, want %d", table, got, invoices)
		}
	}
}
