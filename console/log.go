package console

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/outcomelog/archive"
)

// logPage searches the outcome log.
type logPage struct {
	Off bool // no log is kept
	// Days is the time for which entries are kept.
	Days    string
	Dropped uint64
	Problem string

	Made, Key, Scope, Name, Rule, Field, Outcome string
	Outcomes                                     []outcomelog.Outcome
	Entries                                      []operatorview.LogEntry
	Examined                                     int
	Older                                        string
}

// keptOutcomes are those that can be searched for, in the order of the form.
func keptOutcomes() []outcomelog.Outcome {
	return []outcomelog.Outcome{
		outcomelog.Created, outcomelog.ReturnedExisting, outcomelog.Rejected, outcomelog.Failed, outcomelog.Unknown, outcomelog.Released, outcomelog.RolledBack,
		outcomelog.NotStored, outcomelog.Unprotected,
	}
}

// outcomes shows the entries of the outcome log that match.
func (c *Console) outcomes(k *call) {
	p := logPage{Off: c.kept == nil, Outcomes: keptOutcomes()}
	if p.Off {
		c.show(k, http.StatusOK, "log", "Outcome log", p)
		return
	}
	q := k.URL.Query()
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	p.Days, p.Dropped = days(c.kept.Retention()), c.kept.Dropped()
	p.Made, p.Key, p.Rule, p.Field, p.Outcome = get("made"), strings.ToLower(get("key")), get("rule"), get("field"), get("outcome")
	p.Scope, p.Name = q.Get("scope"), q.Get("name")
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	query := archive.Query{
		Made: p.Made, Rule: p.Rule, Field: p.Field, Outcome: outcomelog.Outcome(p.Outcome), After: q.Get("after"), Limit: pageRecords,
	}
	if p.Key != "" {
		query.Keys = append(query.Keys, p.Key)
	}
	switch key := (semel.Key{Scope: p.Scope, Name: p.Name}); {
	case p.Scope == "" && p.Name == "":
	case p.Key != "":
		p.Problem = "Search by the digits of a digest, or by scope and key: not by both."
	case p.Scope == "" || p.Name == "" || key.Validate() != nil:
		p.Problem = "A scope and a key belong together: the log has the digest of both, and neither of them."
	default:
		query.Keys = c.digests(ctx, key)
	}
	if p.Problem == "" {
		page, err := c.kept.Search(ctx, query)
		switch {
		case errors.Is(err, archive.ErrCursor):
			p.Problem = "The address does not say where to go on. Search again."
		case err != nil:
			c.fail(k, "The outcome log cannot be read", "Load this page again when its database answers. It says: "+err.Error())
			return
		}
		p.add(k, &page)
	}
	c.show(k, http.StatusOK, "log", "Outcome log", p)
}

// days writes a duration in days if it is a whole number of days.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + " days"
	}
	return span(d)
}

// add adds what was found.
func (p *logPage) add(k *call, page *archive.Page) {
	for i := range page.Entries {
		e := operatorview.ViewLogEntry(&page.Entries[i])
		if _, err := semel.ParseDigest(e.Digest); err != nil {
			e.Digest = "" // it names no record
		}
		p.Entries = append(p.Entries, e)
	}
	p.Examined = page.Examined
	if page.Next != "" {
		older := k.URL.Query()
		older.Set("after", page.Next)
		p.Older = "?" + older.Encode()
	}
}

// digests returns the digests of a key: under the newest secret, and under the one of its record, if there is one.
func (c *Console) digests(ctx context.Context, key semel.Key) []string {
	all := []string{c.guard.Digest(key).String()}
	if rec, err := c.guard.Lookup(ctx, key); err == nil && rec.Digest.String() != all[0] {
		all = append(all, rec.Digest.String())
	}
	return all
}
