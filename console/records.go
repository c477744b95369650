package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/operator"
)

// pageRecords bounds the records on a page.
const pageRecords = 50

// found is a part of a list, and how it came about.
type found struct {
	rest

	// News follows what has come since; nil where only some records are shown.
	News    *news
	Records []row
	// Pick says that records can be chosen.
	Pick bool
}

// row is a record in a list, of one line.
type row struct {
	operatorview.Record

	Word   string // its state, in which a flow can be parked or open
	Short  string // its key; the first digits of the digest where keys are hidden
	Route  string // method and path, or the scope itself
	Caller string // the digest of the caller; empty where the scope has none
	Began  string
	// In says what it means for the next attempt.
	In string
	// Said holds the error, or why the outcome is unknown: the note of the attempt, or the finding of the reconcile rule.
	Said string
}

func viewRow(rec *semel.Record) row {
	r := row{Record: operatorview.ViewRecord(rec), In: became(rec), Began: unknownSince(rec), Route: rec.Scope, Short: rec.Name}
	r.Word = r.State
	if method, _, path, ok := routeOf(rec); ok {
		r.Caller, _, _ = strings.Cut(rec.Scope, " ")
		r.Route = method + " " + path
	}
	if r.Short == "" {
		r.Short = r.Digest[:12] + "…"
	}
	switch kindOf(rec) {
	case ofStep:
		r.Route, r.Short = "step of a flow", "step "+rec.Name
	case ofFlow:
		flow, scope, _ := strings.Cut(strings.TrimPrefix(rec.Scope, verdict.FlowScopes), ":")
		r.Route = "flow " + flow + ", " + scope
		if r.State == semel.StateUnknown.String() {
			if r.Word = "open"; parkedAt(rec.Note).Step != "" {
				r.Word = "parked"
			}
		}
	case ofRequest, ofFunction:
	case ofMessage:
		r.Route = "message for " + strings.TrimPrefix(rec.Scope, inboxScopes)
	}
	if r.Failure != nil {
		r.Said = r.Failure.Error
	} else if found, _, ok := reconciled(rec); ok {
		r.Said = "The reconcile rule found: " + found
	} else if r.State == semel.StateUnknown.String() {
		r.Said = rec.Note
	}
	return r
}

// search looks at a bounded number of records, and shows the wanted ones.
func (c *Console) search(k *call, s operator.Search, wanted func(*semel.Record) bool) (*found, error) {
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	s.After, s.Examine = k.URL.Query().Get("after"), semel.MaxListExamined
	f := &found{}
	p, err := c.records.List(ctx, s, func(rec *semel.Record) error {
		_ = operatorview.Reveal(c.guard, rec) // an unreadable answer is shown as encrypted
		if wanted(rec) {
			f.Records = append(f.Records, viewRow(rec))
		}
		return nil
	})
	f.Examined, f.Unordered = p.Examined, p.Unordered
	if p.Next != "" {
		older := k.URL.Query()
		older.Set("after", p.Next)
		f.Older = "?" + older.Encode()
	}
	return f, err
}

func anyRecord(*semel.Record) bool { return true }

// recordsPage lists records.
type recordsPage struct {
	*found

	Scope, Name, State string
	States             []semel.State
	Problem            string
}

// list shows the records that match, or the one of a key.
func (c *Console) list(k *call) {
	q := k.URL.Query()
	p := recordsPage{Scope: q.Get("scope"), Name: q.Get("name"), State: q.Get("state"), States: operatorview.SearchStates()}
	key := semel.Key{Scope: p.Scope, Name: p.Name}
	if p.Scope != "" && p.Name != "" && key.Validate() == nil {
		rec, err := c.guard.Lookup(k.Context(), key)
		if err == nil || errors.Is(err, semel.ErrUnreadable) {
			http.Redirect(k.w, k.Request, Path+"records/"+rec.Digest.String(), http.StatusSeeOther)
			return
		}
		if errors.Is(err, semel.ErrNotFound) {
			p.Problem = "No record has this scope and key: it never arrived here, was released, or has expired. Other records with it are below, if there are any."
		}
	}
	search := operator.Search{Scope: p.Scope, Name: p.Name, Limit: pageRecords}
	if state, ok := operatorview.ParseState(p.State); ok {
		search.States = []semel.State{state}
	}
	var fresh *news
	if k.URL.RawQuery == "" {
		fresh = c.newsOf(recordNews, "", k.URL.Path)
	}
	var err error
	if p.found, err = c.search(k, search, anyRecord); err != nil {
		c.storeFailed(k, err)
		return
	}
	p.News = fresh
	c.show(k, http.StatusOK, "records", "Records", p)
}

// storeFailed says that the records cannot be read now.
func (c *Console) storeFailed(k *call, err error) {
	c.fail(k, "The store does not answer", "Load this page again when it does. It says: "+err.Error())
}

// auditPage lists verdicts.
type auditPage struct {
	Entries []operatorview.AuditEntry
	Older   string
}

func (c *Console) audit(k *call) {
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	trail, err := c.records.Audit(ctx, operator.AuditParams{After: k.URL.Query().Get("after"), Limit: pageRecords})
	if err != nil {
		c.storeFailed(k, err)
		return
	}
	var p auditPage
	for i := range trail.Entries {
		p.Entries = append(p.Entries, operatorview.ViewAudit(&trail.Entries[i]))
	}
	if trail.Next != "" {
		p.Older = "?" + url.Values{"after": {trail.Next}}.Encode()
	}
	c.show(k, http.StatusOK, "audit", "Audit trail", p)
}
