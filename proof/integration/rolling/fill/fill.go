// Package fill records one intent of every kind, and asks for each again. It
// uses nothing that the first release does not have, so that it can be copied
// into the tree of an older one: see docs/upgrade.md.
package fill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/semelhttp"
)

// Retention keeps the records for as long as these tests may run.
const Retention = 100 * 365 * 24 * time.Hour

// Records counts them.
const Records = 15

const scope = "tenant-7 POST /invoices, ümlaut"

// Invoice is kept by Do.
type Invoice struct {
	ID    int      `json:"id"`
	Lines []string `json:"lines"`
	Paid  *bool    `json:"paid"`
}

// policy is that of all guards here.
func policy() semel.Policy {
	return semel.Policy{Retention: Retention, UnknownRetention: Retention, Wait: 10 * time.Second}
}

// Fill records the intents in an empty store.
func Fill(ctx context.Context, store semel.Store) error {
	return with(store, func(g *semel.Guard) error { //nolint:contextcheck // a guard is closed without one.
		for _, act := range []func(context.Context, *semel.Guard) error{executeDo, executeClaims, executeHTTP} {
			if err := act(ctx, g); err != nil {
				return err
			}
		}
		return abandon(ctx, store)
	})
}

// Replay asks for every intent again and returns what was not as recorded.
// Nothing must execute.
func Replay(ctx context.Context, store semel.Store) error {
	return with(store, func(g *semel.Guard) error { //nolint:contextcheck // a guard is closed without one.
		return errors.Join(replayDo(ctx, g), refuseClaims(ctx, g), replayHTTP(ctx, g))
	})
}

func with(store semel.Store, act func(*semel.Guard) error) error {
	g, err := semel.New(store, &semel.Options{Policy: policy(), SweepEvery: -1})
	if err != nil {
		return err
	}
	return errors.Join(act(g), g.Close())
}

func key(name string) semel.Key { return semel.Key{Scope: scope, Name: name} }

func asked(name string) semel.Fingerprint { return semel.FingerprintOf("what was asked", name) }

func invoice() Invoice {
	return Invoice{ID: 12, Lines: []string{"bolts <1>", "nuts", "Üben & Ähren\u2028"}}
}

func executeDo(ctx context.Context, g *semel.Guard) error {
	_, err := semel.Do(ctx, g, key("do value"), asked("do value"), func(context.Context) (Invoice, error) { return invoice(), nil })
	if err != nil {
		return err
	}
	_, err = semel.Do(ctx, g, key("do null"), asked("do null"), func(context.Context) (*Invoice, error) { return nil, nil }) //nolint:nilnil // null is kept too.
	if err != nil {
		return err
	}
	_, err = semel.Do(ctx, g, key("do final"), asked("do final"), func(context.Context) (Invoice, error) {
		return Invoice{}, semel.MarkFinal(errors.New("no such customer: «4»"))
	})
	if err == nil {
		return errors.New("the final error was lost")
	}
	return nil
}

func replayDo(ctx context.Context, g *semel.Guard) error {
	var errs []error
	got, err := semel.Do(ctx, g, key("do value"), asked("do value"), mustNotRun[Invoice])
	if err != nil || fmt.Sprint(got) != fmt.Sprint(invoice()) {
		errs = append(errs, fmt.Errorf("do value: got %v, %w; want %v", got, err, invoice()))
	}
	null, err := semel.Do(ctx, g, key("do null"), asked("do null"), mustNotRun[*Invoice])
	if err != nil || null != nil {
		errs = append(errs, fmt.Errorf("do null: got %v, %w; want nil", null, err))
	}
	_, err = semel.Do(ctx, g, key("do final"), asked("do final"), mustNotRun[Invoice])
	var final *semel.FinalError
	if !errors.As(err, &final) || final.Message != "no such customer: «4»" {
		errs = append(errs, fmt.Errorf("do final: got %w", err))
	}
	if rec, err := g.Lookup(ctx, key("do final")); err != nil || operator.State(&rec) != semel.StateFailed {
		errs = append(errs, fmt.Errorf("do final: an operator sees %v, %w", operator.State(&rec), err))
	}
	_, err = semel.Do(ctx, g, key("do value"), asked("something else"), mustNotRun[Invoice])
	if !errors.Is(err, semel.ErrMismatch) {
		errs = append(errs, fmt.Errorf("another fingerprint: got %w, want a mismatch", err))
	}
	return errors.Join(errs...)
}

func mustNotRun[T any](context.Context) (T, error) {
	var zero T
	return zero, errors.New("IT WAS EXECUTED AGAIN")
}

const note = "the upstream's answer broke off: «EOF»"

func executeClaims(ctx context.Context, g *semel.Guard) error {
	for name, settle := range claims() {
		claim, _, err := g.Begin(ctx, key(name), asked(name))
		if err != nil {
			return err
		}
		if err := settle(claim); err != nil {
			return err
		}
	}
	return cancel(ctx, g, key("cancelled"))
}

// cancel leaves a tombstone as Guard.Cancel does, but without the entry in the
// audit trail, which the first version did not have.
func cancel(ctx context.Context, g *semel.Guard, k semel.Key) error {
	policy := g.Policy()
	rec, _, err := g.Store().Claim(ctx, semel.ClaimParams{
		Digest: g.Digest(k), Scope: k.Scope, Name: k.Name, Owner: semel.Owner{1}, Lease: policy.Lease, Retention: policy.UnknownRetention,
	})
	if err != nil {
		return err
	}
	return g.Store().Settle(ctx, rec.Digest, rec.Fence, semel.Settlement{State: semel.StateCancelled, Note: note, Retention: policy.Retention})
}

func claims() map[string]func(*semel.Claim) error {
	return map[string]func(*semel.Claim) error{
		"not kept":        func(c *semel.Claim) error { return c.CompleteWithout(nil) },
		"not kept, known": func(c *semel.Claim) error { return c.CompleteWithout([]byte("a summary")) },
		"unknown":         func(c *semel.Claim) error { return c.Unknown(note) },
		"bytes":           func(c *semel.Claim) error { return c.Complete(everyByte(), nil) },
		"nothing":         func(c *semel.Claim) error { return c.Complete(nil, nil) },
	}
}

func everyByte() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

// abandon leaves a claim whose holder is gone.
func abandon(ctx context.Context, store semel.Store) error {
	k := key("abandoned")
	_, _, err := store.Claim(ctx, semel.ClaimParams{
		Digest: k.Digest(), Scope: k.Scope, Name: k.Name, Fingerprint: asked("abandoned"), Owner: semel.Owner{7},
		Lease: time.Millisecond, Retention: Retention,
	})
	return err
}

func refuseClaims(ctx context.Context, g *semel.Guard) error {
	var errs []error
	for name, want := range map[string]error{
		"not kept": semel.ErrNotKept, "not kept, known": semel.ErrNotKept, "unknown": semel.ErrUnknown,
		"cancelled": semel.ErrCancelled, "abandoned": semel.ErrUnknown,
	} {
		claim, rec, err := g.Begin(ctx, key(name), asked(name))
		if claim != nil || rec != nil || !errors.Is(err, want) {
			errs = append(errs, fmt.Errorf("%s: got claim %v, record %v, error %w; want %w", name, claim, rec, err, want))
		}
	}
	for name, want := range map[string]string{"bytes": string(everyByte()), "nothing": ""} {
		claim, rec, err := g.Begin(ctx, key(name), asked(name))
		if claim != nil || rec == nil || string(rec.Outcome) != want {
			errs = append(errs, fmt.Errorf("%s: got claim %v, record %v, error %w; want the outcome", name, claim, rec, err))
		}
	}
	for name, want := range map[string]string{"unknown": note, "cancelled": note, "not kept, known": ""} {
		rec, err := g.Lookup(ctx, key(name))
		if err != nil || rec.Note != want {
			errs = append(errs, fmt.Errorf("%s: got note %q, %w; want %q", name, rec.Note, err, want))
		}
	}
	return errors.Join(errs...)
}

// handler answers by the request's path.
func handler(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Location", "/invoices/12")
	switch r.URL.Path {
	case "/plain":
		h["X-Several"] = []string{"one", "", "two, «three»"}
		h.Set("Set-Cookie", "session=secret")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(everyByte())
	case "/trailer":
		h.Set("Trailer", "X-Checksum")
		_, _ = fmt.Fprint(w, "a body")
		h.Set("X-Checksum", "9f3c")
	case "/empty":
		w.WriteHeader(http.StatusNoContent)
	case "/refused":
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = fmt.Fprint(w, `{"problem":"amount"}`)
	case "/long":
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(w, strings.Repeat("x", 4096))
	}
}

// want is the answer to a duplicate: status, headers and body.
func want() map[string]string {
	return map[string]string{
		"/plain": "201 Content-Type=[text/plain; charset=utf-8] Idempotency-Status=[replayed] Idempotent-Replayed=[true] " +
			"Location=[/invoices/12] X-Several=[one  two, «three»] " + string(everyByte()),
		"/trailer": "200 Content-Type=[text/plain; charset=utf-8] Idempotency-Status=[replayed] Idempotent-Replayed=[true] " +
			"Location=[/invoices/12] trailer X-Checksum=[9f3c] a body",
		"/empty": "204 Content-Type=[text/plain; charset=utf-8] Idempotency-Status=[replayed] Idempotent-Replayed=[true] " +
			"Location=[/invoices/12] ",
		"/refused": "422 Content-Type=[text/plain; charset=utf-8] Idempotency-Status=[replayed] Idempotent-Replayed=[true] " +
			`Location=[/invoices/12] {"problem":"amount"}`,
	}
}

func executeHTTP(ctx context.Context, g *semel.Guard) error {
	for _, path := range []string{"/plain", "/trailer", "/empty", "/refused", "/long"} {
		res, err := post(ctx, g, path, handler)
		if err != nil {
			return err
		}
		if word := res.Header().Get("Idempotency-Status"); word != "executed" {
			return fmt.Errorf("%s: %q, want executed", path, word)
		}
	}
	return nil
}

func replayHTTP(ctx context.Context, g *semel.Guard) error {
	var errs []error
	executed := 0
	count := func(http.ResponseWriter, *http.Request) { executed++ }
	for path, want := range want() {
		res, err := post(ctx, g, path, count)
		if err != nil {
			return err
		}
		if got := text(res); got != want {
			errs = append(errs, fmt.Errorf("%s: got  %q\nwant %q", path, got, want))
		}
	}
	res, err := post(ctx, g, "/long", count)
	if err != nil {
		return err
	}
	if body := res.Body.String(); res.Code != http.StatusConflict || !strings.Contains(body, "response-not-kept") || !strings.Contains(body, "/invoices/12") {
		errs = append(errs, fmt.Errorf("/long: got %d %s, want response-not-kept with its location", res.Code, body))
	}
	if executed > 0 {
		errs = append(errs, fmt.Errorf("%d REQUESTS WERE EXECUTED AGAIN", executed))
	}
	return errors.Join(errs...)
}

func post(ctx context.Context, g *semel.Guard, path string, h http.HandlerFunc) (*httptest.ResponseRecorder, error) {
	door, err := semelhttp.New(g, semelhttp.ScopeBy(func(*http.Request) string { return scope }),
		&semelhttp.Options{Required: true, MaxResponseBytes: 1024})
	if err != nil {
		return nil, err
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://shop.test"+path, strings.NewReader("amount=1250"))
	r.Header.Set("Idempotency-Key", "http "+path)
	w := httptest.NewRecorder()
	door.Handler(h).ServeHTTP(w, r)
	return w, nil
}

func text(w *httptest.ResponseRecorder) string {
	res := w.Result()
	defer res.Body.Close() //nolint:errcheck // in memory.
	var b strings.Builder
	fmt.Fprint(&b, res.StatusCode, " ")
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		switch name {
		case "Trailer", "Age", "Vary": // not recorded
		default:
			fmt.Fprintf(&b, "%s=%v ", name, res.Header[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(res.Trailer)) {
		fmt.Fprintf(&b, "trailer %s=%v ", name, res.Trailer[name])
	}
	b.Write(w.Body.Bytes())
	return b.String()
}

// Unknown is the intent that was settled as unknown.
func Unknown() (semel.Key, semel.Fingerprint) { return key("unknown"), asked("unknown") }
