package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
)

const keysOfEach = 30

// kinds are the paths of the application, and what a duplicate gets: the same
// status and body, unless it is a problem.
func kinds() map[string]string {
	return map[string]string{
		"/created": "replayed", "/refused": "replayed", "/empty": "replayed",
		"/long": "response-not-kept", "/broken": "outcome-unknown",
	}
}

// application counts what it executes.
type application struct {
	mu       sync.Mutex // guards the fields below
	executed map[string]int
}

// ServeHTTP implements http.Handler.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	a.mu.Lock()
	a.executed[key]++
	n := a.executed[key]
	a.mu.Unlock()
	w.Header().Set("X-Key", key)
	switch r.URL.Path {
	case "/created":
		w.Header()["X-Several"] = []string{"one", "two"}
		w.Header().Set("Set-Cookie", "session=secret")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "%s, execution %d, \x00\xff", key, n) //nolint:gosec // read by this program only.
	case "/refused":
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = fmt.Fprint(w, key) //nolint:gosec // the same.
	case "/empty":
		w.WriteHeader(http.StatusNoContent)
	case "/long":
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, strings.Repeat("x", 2<<20))
	case "/broken":
		panic(http.ErrAbortHandler) //nolint:forbidigo // as net/http wants it.
	}
}

// deploy is two builds on one store.
type deploy struct {
	app                           *application
	upstream, dir, store          string
	previousBinary, presentBinary string
	out                           io.Writer

	asked   int
	first   map[string]answer // by key
	wrongs  []error
	replays int
}

func run(ctx context.Context, previous, present, store string, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "semel-rolling-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	app := &application{executed: map[string]int{}}
	upstream := httptest.NewServer(app)
	defer upstream.Close()
	d := &deploy{
		app: app, upstream: upstream.URL, dir: dir, store: store, previousBinary: previous, presentBinary: present,
		out: out, first: map[string]answer{},
	}
	phases := d.phases
	if strings.HasPrefix(store, "log:") { // it belongs to one process
		phases = d.turns
	}
	if err := phases(ctx); err != nil {
		return err
	}
	d.countExecutions()
	_, _ = fmt.Fprintf(out, "%d requests with %d keys: %d replays, %d wrong\n", d.asked, len(d.first), d.replays, len(d.wrongs))
	return errors.Join(d.wrongs...)
}

// phases are those of a deploy: the previous build alone, both, the present
// one alone, and back.
func (d *deploy) phases(ctx context.Context) error {
	previous, err := d.start(ctx, "previous", d.previousBinary)
	if err != nil {
		return err
	}
	d.ask(ctx, "before", previous)
	present, err := d.start(ctx, "present", d.presentBinary)
	if err != nil {
		return errors.Join(err, previous.stop())
	}
	d.ask(ctx, "before", present, previous)
	d.ask(ctx, "during", previous, present)
	d.ask(ctx, "during", present, previous)
	d.race(ctx, previous, present)
	if err := previous.stop(); err != nil {
		return errors.Join(err, present.stop())
	}
	d.ask(ctx, "before", present)
	d.ask(ctx, "after", present)
	if err := present.stop(); err != nil {
		return err
	}
	if previous, err = d.start(ctx, "rolled-back", d.previousBinary); err != nil {
		return err
	}
	for _, phase := range []string{"before", "during", "race", "after"} {
		d.ask(ctx, phase, previous)
	}
	return previous.stop()
}

// turns are a deploy that ends each build before it starts the next, and goes back.
func (d *deploy) turns(ctx context.Context) error {
	for _, turn := range []struct {
		name, binary string
		phases       []string
	}{
		{"previous", d.previousBinary, []string{"before"}},
		{"present", d.presentBinary, []string{"before", "after"}},
		{"rolled-back", d.previousBinary, []string{"before", "after"}},
	} {
		g, err := d.start(ctx, turn.name, turn.binary)
		if err != nil {
			return err
		}
		for _, phase := range turn.phases {
			d.ask(ctx, phase, g)
		}
		if err := g.stop(); err != nil {
			return err
		}
	}
	return nil
}

func (d *deploy) start(ctx context.Context, name, binary string) (*gateway, error) {
	return start(ctx, name, binary, d.store, d.upstream, d.dir)
}

// ask sends every key of the phase to the gateways in turn, twice.
func (d *deploy) ask(ctx context.Context, phase string, gateways ...*gateway) {
	for path := range kinds() {
		for i := range keysOfEach {
			key := fmt.Sprint(phase, path, i)
			for turn := range 2 * len(gateways) {
				d.look(key, path, send(ctx, gateways[(turn+i)%len(gateways)], path, key))
			}
		}
	}
}

// race sends the same key to both gateways at once.
func (d *deploy) race(ctx context.Context, gateways ...*gateway) {
	for path := range kinds() {
		for i := range keysOfEach {
			key := fmt.Sprint("race", path, i)
			answers := make([]answer, 2*len(gateways))
			var senders sync.WaitGroup
			for n := range answers {
				senders.Go(func() { answers[n] = send(ctx, gateways[n%len(gateways)], path, key) })
			}
			senders.Wait()
			for n, a := range answers { // the one that executed comes first
				if a.word == "executed" {
					answers[0], answers[n] = answers[n], answers[0]
				}
			}
			for _, a := range answers {
				d.look(key, path, a)
			}
		}
	}
}

// look compares an answer with the first one to the key.
func (d *deploy) look(key, path string, got answer) {
	d.asked++
	first, again := d.first[key]
	want := kinds()[path]
	switch {
	case got.err != nil:
		d.wrong("%s from %s: %w", key, got.from, got.err)
	case !again:
		d.first[key] = got
	case want == "replayed" && (got.word != want || got.status != first.status || got.text != first.text):
		d.wrong("%s: %s answered\n%d %s %q, after %s had answered\n%d %s %q", key, got.from, got.status, got.word, got.text,
			first.from, first.status, first.word, first.text)
	case want != "replayed" && !strings.Contains(got.text, want):
		d.wrong("%s: %s answered %d %q, want %s", key, got.from, got.status, got.text, want)
	default:
		d.replays++
	}
}

func (d *deploy) countExecutions() {
	d.app.mu.Lock()
	defer d.app.mu.Unlock()
	for key := range d.first {
		if n := d.app.executed[key]; n != 1 {
			d.wrong("%s was EXECUTED %d TIMES", key, n)
		}
	}
}

func (d *deploy) wrong(format string, args ...any) {
	if len(d.wrongs) < 20 {
		d.wrongs = append(d.wrongs, fmt.Errorf(format, args...))
	}
}
