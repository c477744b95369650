package console

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	told "github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outcomelog/archive"
)

// findPage shows the records that a word may name: a reference, a key, an order number of the outcome log, or a digest.
type findPage struct {
	*found

	Query, Problem string
	Entries        []operatorview.LogEntry
	Logged         bool // there is an outcome log
	Digits         bool // the word can be the first digits of a digest
}

const (
	// fewDigits is the length of a reference, the shortest part of a digest that is looked for.
	fewDigits = told.ReferenceDigits
	// maxQuery bounds a word: no key is longer.
	maxQuery = semel.MaxKeyBytes
)

// asReference is the form of a reference, with the letters that people mistake for digits.
var asReference = regexp.MustCompile(`^[0-9A-Za-z]{4}[- ][0-9A-Za-z]{4}$`)

// digitsOf reads a word as the first digits of a digest. problem explains why a word that looks like a reference is not one.
func digitsOf(word string) (digits, problem string) {
	digits = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(word, "#"), "…"))
	reference := asReference.MatchString(digits)
	if reference {
		digits = strings.NewReplacer("-", "", " ", "", "o", "0", "i", "1", "l", "1").Replace(digits)
	}
	if len(digits) >= fewDigits && len(digits) <= 64 && strings.Trim(digits, "0123456789abcdef") == "" {
		return digits, ""
	}
	if reference {
		return "", "A reference has eight digits, 0 to 9 and A to F, as in 6C5B-3130. This one has others, so it is looked for as a key and an order number."
	}
	return "", ""
}

// find leads to the one record that a word names, or lists several.
func (c *Console) find(k *call) {
	p := findPage{found: &found{}, Query: strings.TrimSpace(k.URL.Query().Get("q")), Logged: c.kept != nil}
	if p.Query == "" || len(p.Query) > maxQuery {
		p.Problem = "Type a reference such as 6C5B-3130, a key, an order number, or a digest."
		c.show(k, http.StatusOK, "find", "Find", p)
		return
	}
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	digits, problem := digitsOf(p.Query)
	p.Digits, p.Problem = digits != "", problem
	if err := c.findRecords(ctx, k, &p, digits); err != nil {
		c.storeFailed(k, err)
		return
	}
	if c.kept != nil {
		if err := c.findEntries(ctx, &p, digits); err != nil {
			c.fail(k, "The outcome log cannot be read", "Load this page again when its database answers. It says: "+err.Error())
			return
		}
	}
	if digest := p.only(); digest != "" {
		http.Redirect(k.w, k.Request, Path+"records/"+digest, http.StatusSeeOther)
		return
	}
	c.show(k, http.StatusOK, "find", "Find", p)
}

// only returns the digest of the one record that was found, if nothing else was.
func (p *findPage) only() string {
	if len(p.Records) != 1 {
		return ""
	}
	for i := range p.Entries {
		if !strings.HasPrefix(p.Records[0].Digest, p.Entries[i].Digest) {
			return ""
		}
	}
	return p.Records[0].Digest
}

// findRecords adds the records with that key, and those whose digest begins with the digits.
func (c *Console) findRecords(ctx context.Context, k *call, p *findPage, digits string) error {
	shown := map[string]bool{}
	add := func(rec *semel.Record) error { //nolint:unparam // as a list wants it.
		if digest := rec.Digest.String(); !shown[digest] && len(p.Records) < pageRecords {
			shown[digest] = true
			_ = operatorview.Reveal(c.guard, rec) // an unreadable answer is shown as such
			p.Records = append(p.Records, viewRow(rec))
		}
		return nil
	}
	if digest, err := semel.ParseDigest(digits); err == nil {
		rec, err := c.guard.Store().Lookup(ctx, digest)
		switch {
		case err == nil:
			return add(&rec)
		case !errors.Is(err, semel.ErrNotFound):
			return err
		}
	}
	search := operator.Search{Name: p.Query, Limit: pageRecords, Examine: semel.MaxListExamined, After: k.URL.Query().Get("after")}
	at, err := c.records.List(ctx, search, add)
	if err == nil && digits != "" {
		search.Name, search.Limit, search.Bare = "", 0, true
		byDigits := func(rec *semel.Record) error {
			if !strings.HasPrefix(rec.Digest.String(), digits) {
				return nil
			}
			whole, err := c.guard.Store().Lookup(ctx, rec.Digest) // whether it failed is in its outcome
			if err != nil {
				return ignoreGone(err)
			}
			return add(&whole)
		}
		// Most people who have a reference wait for a verdict, and of all records only so many are looked at.
		unknown := search
		unknown.States = []semel.State{semel.StateUnknown}
		if at, err = c.records.List(ctx, unknown, byDigits); err == nil && len(p.Records) == 0 {
			at, err = c.records.List(ctx, search, byDigits)
		}
	}
	p.Examined, p.Unordered = at.Examined, at.Unordered
	if at.Next != "" {
		older := k.URL.Query()
		older.Set("after", at.Next)
		p.Older = "?" + older.Encode()
	}
	return err
}

// ignoreGone returns no error for a record that is not there any more.
func ignoreGone(err error) error {
	if errors.Is(err, semel.ErrNotFound) {
		return nil
	}
	return err
}

// findEntries adds the entries of the outcome log about such a record, or with that number.
func (c *Console) findEntries(ctx context.Context, p *findPage, digits string) error {
	queries := []archive.Query{{Made: p.Query, Limit: pageRecords}}
	if digits != "" {
		queries = append(queries, archive.Query{Keys: []string{digits}, Limit: pageRecords})
	}
	for _, q := range queries {
		page, err := c.kept.Search(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			e := operatorview.ViewLogEntry(&page.Entries[i])
			if _, err := semel.ParseDigest(e.Digest); err != nil {
				e.Digest = "" // it names no record
			}
			p.Entries = append(p.Entries, e)
		}
	}
	return nil
}
