package rerun

import (
	"database/sql"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// difference says what changed between two states.
type difference struct {
	changes []Change
	other   bool // something that is not a time
}

func (d difference) none() bool { return len(d.changes) == 0 }

// diff compares two states of the same tables.
func diff(a, b state, withSequences bool) (d difference) {
	for i := range b { // a table that is gone shows in the definitions
		at := slices.IndexFunc(a, func(c contents) bool { return c.table == b[i].table })
		if at >= 0 && (b[i].table != sequences || withSequences) {
			d.compare(&a[at], &b[i])
		}
	}
	slices.SortStableFunc(d.changes, func(x, y Change) int { return strings.Compare(x.Table, y.Table) })
	if len(d.changes) > maxChanges {
		d.changes = d.changes[:maxChanges]
	}
	return d
}

func (d *difference) compare(a, b *contents) {
	left := map[string][][]sql.NullString{}
	for _, line := range a.lines {
		left[a.id(line)] = append(left[a.id(line)], line)
	}
	for _, line := range b.lines {
		id := b.id(line)
		same := left[id]
		if len(same) == 0 {
			d.other = true
			d.changes = append(d.changes, Change{Table: b.table, Key: b.keyOf(line), After: written(b.names, line)})
			continue
		}
		at := max(0, slices.IndexFunc(same, func(one []sql.NullString) bool { return slices.Equal(one, line) }))
		d.cells(b, same[at], line)
		left[id] = slices.Delete(same, at, at+1)
	}
	for _, line := range a.lines {
		if id := a.id(line); len(left[id]) > 0 {
			gone := left[id][0]
			left[id] = left[id][1:]
			d.other = true
			d.changes = append(d.changes, Change{Table: a.table, Key: a.keyOf(gone), Before: written(a.names, gone)})
		}
	}
}

// cells compares the values of one row.
func (d *difference) cells(c *contents, a, b []sql.NullString) {
	if len(a) != len(b) {
		d.other = true
		d.changes = append(d.changes, Change{Table: c.table, Key: c.keyOf(b), Before: written(nil, a), After: written(nil, b)})
		return
	}
	change := Change{Table: c.table, Key: c.keyOf(b)}
	var before, after []sql.NullString
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		change.Columns = append(change.Columns, c.names[i])
		before, after = append(before, a[i]), append(after, b[i])
		if timely := c.times[i] || looksLikeTime(a[i].String) && looksLikeTime(b[i].String); !timely {
			d.other = true
		}
	}
	if change.Columns != nil {
		change.Before, change.After = written(nil, before), written(nil, after)
		d.changes = append(d.changes, change)
	}
}

// id identifies a row: the primary key, or else all values but times.
func (c *contents) id(line []sql.NullString) string {
	var b strings.Builder
	for i, v := range line {
		if len(c.key) == 0 && !c.times[i] || slices.Contains(c.key, i) {
			fmt.Fprintf(&b, "%t%q", v.Valid, v.String)
		}
	}
	return b.String()
}

func (c *contents) keyOf(line []sql.NullString) string {
	var names []string
	var values []sql.NullString
	for _, i := range c.key {
		names, values = append(names, c.names[i]), append(values, line[i])
	}
	return written(names, values)
}

// written writes values for people.
func written(names []string, values []sql.NullString) string {
	const longest = 60
	parts := make([]string, len(values))
	for i, v := range values {
		text := "NULL"
		if v.Valid {
			if text = v.String; len([]rune(text)) > longest {
				text = string([]rune(text)[:longest-1]) + "…"
			}
		}
		if i < len(names) {
			text = names[i] + "=" + text
		}
		parts[i] = text
	}
	return strings.Join(parts, ", ")
}

var timeText = regexp.MustCompile(`^'?\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?.*)?'?$`)

// looksLikeTime reports whether a value is a time as text, or the seconds since 1970 of a time around now.
func looksLikeTime(s string) bool {
	if timeText.MatchString(s) {
		return true
	}
	const around = 1000 * 24 * 60 * 60
	n, err := strconv.ParseFloat(s, 64)
	now := float64(time.Now().Unix())
	return err == nil && (math.Abs(n-now) < around || math.Abs(n/1000-now) < around)
}
