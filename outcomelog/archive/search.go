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
	limit, examine := bound(q.Limit, maxLimit), bound(q.Examine, MaxExamined)
	if len(q.Keys) > maxKeys {
		return Page{}, fmt.Errorf("archive: search: %d keys, at most %d", len(q.Keys), maxKeys)
	}
	text, args := a.question(&q, before, examine)
	//semel:safe it only reads
	rows, err := a.db.QueryContext(ctx, text, args...)
	if err != nil {
		return Page{}, fmt.Errorf("archive: search: %w", err)
	}
	var page Page
	var last int64
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
		return Page{}, fmt.Errorf("archive: search: %w", err)
	}
	if errors.Is(err, errFull) || page.Examined == examine {
		page.Next = strconv.FormatInt(last, 10)
	}
	return page, nil
}

func bound(n, most int) int {
	if n < 1 || n > most {
		return most
	}
	return n
}

// question returns the statement that reads the entries to examine. By key or by created resource, it uses an index.
func (a *Archive) question(q *Query, before int64, examine int) (text string, args []any) {
	var where strings.Builder
	if len(q.Keys) > 0 && !slices.ContainsFunc(q.Keys, func(key string) bool { return len(key) < outcomelog.KeyDigits }) {
		for _, key := range q.Keys {
			args = append(args, key[:outcomelog.KeyDigits])
		}
		where.WriteString("intent IN (" + a.dialect.Placeholders(1, len(args)) + ") AND ")
	} else if name := nameOf(cut(q.Made, maxText)); name != "" {
		args = append(args, name)
		where.WriteString("made_name = " + a.dialect.Placeholder(1) + " AND made_name <> '' AND ")
	}
	args = append(args, before, examine)
	return a.text("SELECT id, at_ms, door, outcome, intent, intent_rest, route, rule, fields, status, made FROM {{table}} WHERE " + where.String() +
		"id < " + a.dialect.Placeholder(len(args)-1) + " ORDER BY id DESC LIMIT " + a.dialect.Placeholder(len(args))), args
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
