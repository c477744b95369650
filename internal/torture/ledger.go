package main

import (
	"strconv"
	"strings"
	"sync"
)

// ledger is what callers were told.
type ledger struct {
	mu      sync.Mutex // guards the fields below
	answers map[string]map[string]int
	result  result
}

func newLedger() *ledger { return &ledger{answers: map[string]map[string]int{}} }

// Words of a writer, one line each: a word, and for an answer its key and value.
const (
	wordExecuted = "executed"
	wordReplayed = "replayed"
	wordUnknown  = "unknown"
	wordError    = "error"
)

// note enters one line. A line that a killed writer did not finish is nothing
// that anybody was told.
func (l *ledger) note(line string) {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case fields[0] == wordUnknown:
		l.result.unknowns++
	case fields[0] == wordError:
		l.result.errors++
	case len(fields) == 3 && (fields[0] == wordExecuted || fields[0] == wordReplayed):
		l.result.operations++
		if fields[0] == wordReplayed {
			l.result.replays++
		}
		if l.answers[fields[1]] == nil {
			l.answers[fields[1]] = map[string]int{}
		}
		l.answers[fields[1]][fields[2]]++
	}
}

// check compares what callers were told with the rows that are there.
func (l *ledger) check(rows map[string][]int64, records func(key string) (completed bool, err error)) (result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.result
	for key, ids := range rows {
		r.rows += len(ids)
		if len(ids) > 1 {
			r.duplicates += len(ids) - 1
			r.violation("key %s has %d rows: %v", key, len(ids), ids)
		}
		if records == nil {
			continue
		}
		completed, err := records(key)
		if err != nil {
			return *r, err
		}
		if !completed {
			r.violation("key %s has a row, but no recorded outcome", key)
		}
	}
	r.keys = len(l.answers)
	for key, answers := range l.answers {
		if len(answers) > 1 {
			r.violation("key %s got different answers: %v", key, answers)
		}
		for answer := range answers {
			if len(rows[key]) == 0 || strconv.FormatInt(rows[key][0], 10) != answer {
				r.violation("key %s was answered with row %s, but its rows are %v", key, answer, rows[key])
			}
		}
	}
	return *r, nil
}
