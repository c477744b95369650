package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/jsonsearch"
	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// reconciler asks the upstream whether an intent happened.
type reconciler struct {
	asker

	rule *rules.Reconcile
	// authorization is sent in the background; empty for none.
	authorization string
}

// reconcile is the Reconcile of semel.Policy.
func (c *reconciler) reconcile(ctx context.Context, rec semel.Record) (semel.Reconciliation, error) {
	since := sinceOf(&rec)
	note := func(text string) string { return verdict.WithSince(text, since, semel.MaxNoteBytes) }
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return semel.Reconciliation{Note: note("not asked by a request")}, nil
	}
	found, err := c.ask(ctx, a)
	if err != nil {
		return semel.Reconciliation{Note: note("reconcile: " + quietly(err))}, nil // the note keeps it, and since when
	}
	switch {
	case found.fulfils(&c.rule.Happened):
		outcome, err := c.replay(a, found)
		if err != nil {
			return semel.Reconciliation{Note: note("it happened, but its answer cannot be built: " + quietly(err))}, nil // as above
		}
		return semel.Reconciliation{Verdict: semel.Happened, Outcome: outcome, Kept: true, Note: found.auditNote()}, nil
	case !found.fulfils(&c.rule.NotHappened):
		return semel.Reconciliation{Note: note("reconcile: the upstream's answer " + strconv.Itoa(found.status) + " says neither")}, nil
	}
	if rest := c.rule.AbsentAfter - rec.ReadAt.Sub(since); rest > 0 {
		return semel.Reconciliation{Note: note("not there yet, but it may still arrive"), Again: rest}, nil
	}
	return semel.Reconciliation{Verdict: semel.NotHappened, Note: found.auditNote()}, nil
}

// finding is the answer of the upstream to the GET.
type finding struct {
	status   int
	header   http.Header
	body     []byte
	document any // the body, where it is JSON
}

// auditNote is the reason of a verdict, for the audit trail.
func (f *finding) auditNote() string {
	return "the upstream's answer to the question was " + strconv.Itoa(f.status)
}

// ask sends the GET and reads the answer.
func (c *reconciler) ask(ctx context.Context, a *attempt) (*finding, error) {
	res, err := c.get(ctx, a, c.rule.Get)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // it was only read.
	body, err := read(res)
	if err != nil {
		return nil, err
	}
	return &finding{status: res.StatusCode, header: res.Header, body: body, document: parseJSON(body)}, nil
}

// replay builds the answer to an intent that happened.
func (c *reconciler) replay(a *attempt, found *finding) ([]byte, error) {
	want := &c.rule.Replay
	out := semelhttp.Response{Status: want.Status, Header: http.Header{}}
	out.Status = cmp.Or(out.Status, found.status)
	if !want.Location.IsZero() {
		location, err := want.Location.Expand(func(p template.Part) (string, error) { return c.value(a, p, found.document) })
		if err != nil {
			return nil, err
		}
		out.Header.Set("Location", location)
	}
	if want.Body && out.Status != http.StatusNoContent && out.Status != http.StatusNotModified {
		out.Body = found.body
		for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Language", "Etag"} {
			if values, ok := found.header[name]; ok {
				out.Header[name] = values
			}
		}
	}
	return out.MarshalBinary()
}

// parseJSON returns the document, or nil when it is not valid JSON.
func parseJSON(body []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var document any
	if decoder.Decode(&document) != nil {
		return nil
	}
	return document
}

// fulfils reports whether the condition holds for the answer.
func (f *finding) fulfils(c *rules.Condition) bool {
	if c.IsZero() || (len(c.Status) > 0 && !slices.Contains(c.Status, f.status)) {
		return false
	}
	if c.Pointer == "" {
		return true
	}
	found, ok := lookUp(f.document, c.Pointer)
	if !ok || found == nil {
		return false
	}
	return c.Equals == nil || equals(found, c.Equals)
}

// equals compares a value of a JSON document with one of a rule.
func equals(found, want any) bool {
	number, ok := found.(json.Number)
	if !ok {
		return found == want
	}
	have, err := number.Float64()
	return err == nil && have == want
}

// lookUp follows a JSON pointer.
func lookUp(document any, pointer string) (any, bool) {
	for _, token := range jsonsearch.Steps(pointer) {
		switch at := document.(type) {
		case map[string]any:
			value, ok := at[token]
			if !ok {
				return nil, false
			}
			document = value
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			document = at[i]
		default:
			return nil, false
		}
	}
	return document, true
}

// sinceOf returns since when the outcome is unknown: until then the attempt, or
// the gateway that held it, may have run. Every reconciliation is a claim of its
// own, so the note carries the time on.
func sinceOf(rec *semel.Record) time.Time {
	if _, since, ok := verdict.Since(rec.Note); ok && since.Before(rec.ClaimedAt) {
		return since
	}
	if rec.State == semel.StateClaimed {
		return rec.LeaseUntil
	}
	return rec.SettledAt
}

// background builds the policy by which a route's records are reconciled
// in the background.
func (g *Gateway) background(rt *route) error {
	rule := rt.rule.Reconcile
	if rule == nil || rule.Background == nil {
		return nil
	}
	if g.config.Guard.HideKeys {
		return fmt.Errorf("gateway: route %q: reconciling in the background needs the scope and the key, which hide-keys keeps out of the store; choose one", rt.rule.Name)
	}
	c := &reconciler{asker: g.newAsker(&rt.rule), rule: rule}
	if name := rule.Background.AuthorizationEnv; name != "" {
		if c.authorization = os.Getenv(name); c.authorization == "" {
			return fmt.Errorf("gateway: route %q: the environment variable %s, which holds the credentials for the background, is empty", rt.rule.Name, name)
		}
	}
	rt.unattended = rt.policy
	rt.unattended.Reconcile = c.reconcileAlone
	return nil
}

// reconcileInBackground starts it, where a rule wants it.
func (g *Gateway) reconcileInBackground() error {
	wanted := false
	for _, rt := range g.router.all {
		wanted = wanted || rt.unattended.Reconcile != nil
	}
	if !wanted {
		return nil
	}
	how := g.config.Background
	how.Policy = func(rec *semel.Record) (semel.Policy, bool) {
		r, err := requestOf(rec)
		if err != nil {
			return semel.Policy{}, false
		}
		found := g.router.possible(r, func(f *facts) { // the scope tells the path alone
			for _, place := range []string{"query", "header", "form", "json"} {
				f.doubt(place)
			}
		})
		rt := found[0]
		if len(found) > 1 {
			return semel.Policy{}, false
		}
		policy := rt.unattended
		if rt.rule.Key.Derive != nil && strings.HasPrefix(rec.Name, "derived:") {
			policy.Retention = rt.derived.Retention
		}
		return policy, rt.unattended.Reconcile != nil
	}
	records, err := operator.New(g.guard, nil)
	if err == nil {
		err = records.ReconcileInBackground(how)
	}
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	return nil
}

// reconcileAlone is a Reconcile of semel.Policy that runs without a request.
func (c *reconciler) reconcileAlone(ctx context.Context, rec semel.Record) (semel.Reconciliation, error) {
	r, err := requestOf(&rec)
	if err != nil {
		return semel.Reconciliation{}, err
	}
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	return c.reconcile(context.WithValue(ctx, attemptKey{}, &attempt{request: r, name: rec.Name}), rec)
}

// requestOf returns the request of a record, with the method, host and path of its
// scope, as semelhttp.ScopeBy writes them.
func requestOf(rec *semel.Record) (*http.Request, error) {
	words := strings.Split(rec.Scope, " ")
	const principal, method, host, path, all = 0, 1, 2, 3, 4
	if len(words) != all || words[principal] == "" {
		return nil, errors.New("the scope does not tell the request's path, which was too long for it")
	}
	u, err := url.ParseRequestURI(words[path])
	if err != nil {
		return nil, fmt.Errorf("the scope's path cannot be read: %w", err)
	}
	return &http.Request{Method: words[method], Host: words[host], URL: u, Header: http.Header{}}, nil
}
