package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/outcomelog"
)

// The errors of package archive.
var (
	// ErrNone says that the database has no archive.
	ErrNone = errors.New("archive: no outcome log is kept")
	// ErrCursor says that [Query.After] is not the end of a page.
	ErrCursor = errors.New("archive: this is not where a page ended")
)

const (
	// MaxExamined bounds the entries that one search examines, and is the default.
	MaxExamined = 20_000
	// maxLimit bounds the entries that one search returns, and is the default.
	maxLimit = 1000
	// maxKeys bounds the keys of one search.
	maxKeys = 8
)

// Query selects entries: those that match each member that is not empty.
type Query struct {
	// Keys are digests of keys, or their first digits; an entry has one of them. With fewer than [outcomelog.KeyDigits]
	// digits, entries are compared one by one.
	Keys []string
	// Made names the resource that the request created: a path, or the last part of one. 77 finds /invoices/77.
	Made string
	// Rule, Route and Outcome are exact; Field is the name of one of the fields.
	Rule, Route, Field string
	Outcome            outcomelog.Outcome
	// After continues a search: it holds the Next of a page.
	After string
	// Limit is the number of entries to return, at most and by default 1000; Examine how many to examine, at most and by
	// default [MaxExamined].
	Limit, Examine int
}

// Entry is an event that was kept.
type Entry struct {
	outcomelog.Event

	At time.Time
}

// Page is the result of one search, the newest entry first.
type Page struct {
	Entries []Entry
	// Examined counts the entries that were examined.
	Examined int
	// Next continues after them; empty at the end.
	Next string
}

// Search examines entries, the newest first, until it has found enough of them or reached the bound of [Query.Examine]. By
// key or by created resource, it examines matching entries only.
func (a *Archive) Search(ctx context.Context, q Query) (Page, error) {
	before := int64(math.MaxInt64)
	if q.After != "" {
		var err error
		if before, err = strconv.ParseInt(q.After, 10, 64); err != nil || before < 1 {
			return Page{}, fmt.Errorf("%w: %q", ErrCursor, q.After)
		}
	}
	if len(q.Keys) > maxKeys {
		return Page{}, fmt.Errorf("archive: search: %d keys, at most %d", len(q.Keys), maxKeys)
	}
	page, err := a.search(ctx, &q, before)
	if err != nil {
		return Page{}, fmt.Errorf("archive: search: %w", dialect.Discreet(err))
	}
	return page, nil
}

func (a *Archive) search(ctx context.Context, q *Query, before int64) (page Page, err error) {
	limit, examine := bound(q.Limit, maxLimit), bound(q.Examine, MaxExamined)
	where, args := a.indexed(q)
	if where != "" {
		page, _, err = a.read(ctx, q, where, append(args, before, int64(0), examine), limit, examine)
		return page, err
	}
	// No index finds them: the database compares the entries of a window, and only those that may match are read.
	window, lowest, err := a.count(ctx, before, 0, examine)
	if err != nil || window == 0 {
		return Page{}, err
	}
	where, args, exact := a.compared(q)
	most := examine
	if exact {
		most = limit + 1
	}
	page, last, err := a.read(ctx, q, where, append(args, before, lowest, most), limit, most)
	switch {
	case err != nil:
		return Page{}, err
	case page.Next != "":
		page.Examined, _, err = a.count(ctx, before, last, examine)
		return page, err
	}
	page.Examined = window
	if window == examine {
		page.Next = strconv.FormatInt(lowest, 10)
	}
	return page, nil
}

// count returns how many of at most n entries there are from lowest on and below before, and the last of them.
func (a *Archive) count(ctx context.Context, before, lowest int64, n int) (count int, last int64, err error) {
	//semel:safe it only reads
	err = a.db.QueryRowContext(ctx, a.text("SELECT COUNT(*), COALESCE(MIN(id), 0) FROM (SELECT id FROM {{table}} WHERE id < "+a.dialect.Placeholder(1)+
		" AND id >= "+a.dialect.Placeholder(2)+" ORDER BY id DESC LIMIT "+a.dialect.Placeholder(3)+") examined"), before, lowest, n).Scan(&count, &last)
	return count, last, err
}

// read reads up to most entries, the newest first, until it has as many as limit that match. The last three args are the id
// below which they are, the lowest id, and most.
func (a *Archive) read(ctx context.Context, q *Query, where string, args []any, limit, most int) (page Page, last int64, err error) {
	n := len(args)
	//semel:safe it only reads
	rows, err := a.db.QueryContext(ctx, a.text("SELECT id, at_ms, door, outcome, intent, intent_rest, route, rule, fields, status, made FROM {{table}} WHERE "+where+
		"id < "+a.dialect.Placeholder(n-2)+" AND id >= "+a.dialect.Placeholder(n-1)+" ORDER BY id DESC LIMIT "+a.dialect.Placeholder(n)), args...)
	if err != nil {
		return Page{}, 0, err
	}
	errFull := errors.New("the page is full")
	err = readAll(rows, func() error {
		if len(page.Entries) == limit {
			return errFull
		}
		e, id, err := scan(rows)
		if err != nil {
			return err
		}
		page.Examined++
		last = id
		if q.matches(&e) {
			page.Entries = append(page.Entries, e)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errFull) {
		return Page{}, 0, err
	}
	if errors.Is(err, errFull) || page.Examined == most {
		page.Next = strconv.FormatInt(last, 10)
	}
	return page, last, nil
}

func bound(n, most int) int {
	if n < 1 || n > most {
		return most
	}
	return n
}

// indexed returns the condition by which an index finds the entries, and its arguments; "" for none.
func (a *Archive) indexed(q *Query) (where string, args []any) {
	if len(q.Keys) > 0 && !slices.ContainsFunc(q.Keys, func(key string) bool { return len(key) < outcomelog.KeyDigits }) {
		for _, key := range q.Keys {
			args = append(args, key[:outcomelog.KeyDigits])
		}
		return "intent IN (" + a.dialect.Placeholders(1, len(args)) + ") AND ", args
	}
	if name := nameOf(cut(q.Made, maxText)); name != "" {
		return "made_name = " + a.dialect.Placeholder(1) + " AND made_name <> '' AND ", []any{name}
	}
	return "", nil
}

// compared returns a condition that every matching entry fulfils, and its arguments. exact says that others hardly do: a
// database may not distinguish letters as a query does.
func (a *Archive) compared(q *Query) (where string, args []any, exact bool) {
	for _, is := range []struct{ column, value string }{{"rule", q.Rule}, {"route", q.Route}, {"outcome", string(q.Outcome)}} {
		if is.value != "" {
			args = append(args, cut(is.value, maxText))
			where += is.column + " = " + a.dialect.Placeholder(len(args)) + " AND "
		}
	}
	if q.Field != "" {
		where += "fields <> '[]' AND "
	}
	var ranges []string
	for _, key := range q.Keys { // a digit comes before g
		key = cut(key[:min(len(key), outcomelog.KeyDigits)], maxText)
		ranges = append(ranges, "intent >= "+a.dialect.Placeholder(len(args)+1)+" AND intent < "+a.dialect.Placeholder(len(args)+2))
		args = append(args, key, key+"g")
	}
	if len(ranges) > 0 {
		where += "(" + strings.Join(ranges, " OR ") + ") AND "
	}
	return where, args, q.Field == ""
}

func scan(rows *sql.Rows) (e Entry, id int64, err error) {
	var ms int64
	var fields []byte
	var rest string
	err = rows.Scan(&id, &ms, &e.Door, &e.Outcome, &e.Key, &rest, &e.Route, &e.Rule, &fields, &e.Status, &e.Made)
	if err == nil {
		e.Key += rest
		e.At, err = time.UnixMilli(ms).UTC(), json.Unmarshal(fields, &e.Fields)
	}
	return e, id, err
}

func (q *Query) matches(e *Entry) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	if made := cut(q.Made, maxText); made != "" && made != e.Made && (strings.Contains(made, "/") || made != nameOf(e.Made)) {
		return false
	}
	if len(q.Keys) > 0 && !slices.ContainsFunc(q.Keys, func(key string) bool {
		return strings.HasPrefix(e.Key, key)
	}) {
		return false
	}
	return is(q.Rule, e.Rule) && is(q.Route, e.Route) && is(string(q.Outcome), string(e.Outcome)) &&
		(q.Field == "" || slices.Contains(e.Fields, q.Field))
}

// readAll reads the rows, and closes them.
func readAll(rows *sql.Rows, read func() error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := read(); err != nil {
			return err
		}
	}
	return rows.Err()
}
