package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/outcomelog"
)

const (
	// repeatsEvery is the time between two writes of repetitions.
	repeatsEvery = 5 * time.Second
	// repeatsBatch bounds the keys of one statement.
	repeatsBatch = 64
	// repeatsShare is the share of MaxRows that repetitions may take: a row has all those of a key, about 1 kB.
	repeatsShare = 20
	// repeatsShown bounds the repetitions of a key that are returned one by one.
	repeatsShown = 20
)

// counted is the last column of a row: what one process has counted.
type counted struct {
	Counts map[outcomelog.Outcome]int `json:"counts"`
	Recent []recent                   `json:"recent"`
}

type recent struct {
	At      int64              `json:"at"` // milliseconds
	Outcome outcomelog.Outcome `json:"outcome"`
	Status  int                `json:"status,omitempty"`
}

// KeepRepeats keeps the repetitions in a process's memory as well: every five seconds, those of the keys that were repeated since.
// The memory then answers with what all processes have kept. Call it once, after [Open] and before the memory is used.
func (a *Archive) KeepRepeats(memory *outcomelog.Repeats) {
	memory.UseLog(a.repeatsOf)
	a.repeats.Store(memory)
}

// repeatsOf returns the repetitions of the key with this digest, in hexadecimal, that any process has kept, and those in this
// process's memory.
func (a *Archive) repeatsOf(ctx context.Context, digest string) (all outcomelog.Repetitions, err error) {
	memory := a.repeats.Load()
	if memory != nil {
		all = memory.Of(digest)
	}
	all.Counts = maps.Clone(all.Counts)
	own := all.First.UnixMilli()
	//semel:safe it only reads
	rows, err := a.db.QueryContext(ctx, a.text("SELECT writer, first_ms, last_ms, counted FROM {{repeat}} WHERE intent = "+a.dialect.Placeholder(1)), digest) //nolint:sqlclosecheck // readAll closes them.
	if err != nil {
		return all, fmt.Errorf("archive: read repetitions: %w", dialect.Discreet(err))
	}
	err = readAll(rows, func() error {
		var writer, first, last int64
		var text string
		if err := rows.Scan(&writer, &first, &last, &text); err != nil {
			return err
		}
		if writer == a.writer && first == own { // the memory knows more
			return nil
		}
		return add(&all, first, last, text)
	})
	if err != nil {
		return all, fmt.Errorf("archive: read repetitions: %w", dialect.Discreet(err))
	}
	slices.SortStableFunc(all.Recent, func(x, y outcomelog.Repetition) int { return y.At.Compare(x.At) })
	all.Recent = all.Recent[:min(len(all.Recent), repeatsShown)]
	return all, nil
}

// add joins the repetitions of a row to those that are known.
func add(all *outcomelog.Repetitions, first, last int64, text string) error {
	var of counted
	if err := json.Unmarshal([]byte(text), &of); err != nil {
		return err
	}
	if at := time.UnixMilli(first).UTC(); all.First.IsZero() || at.Before(all.First) {
		all.First = at
	}
	if at := time.UnixMilli(last).UTC(); at.After(all.Last) {
		all.Last = at
	}
	if all.Counts == nil {
		all.Counts = map[outcomelog.Outcome]int{}
	}
	for outcome, n := range of.Counts {
		all.Counts[outcome] += n
	}
	for _, one := range of.Recent {
		all.Recent = append(all.Recent, outcomelog.Repetition{At: time.UnixMilli(one.At).UTC(), Outcome: one.Outcome, Status: one.Status})
	}
	return nil
}

// writeRepeats writes the keys that were repeated since the last write. A row holds totals, so a statement can be repeated.
func (a *Archive) writeRepeats(ctx context.Context) {
	memory := a.repeats.Load()
	if memory == nil {
		return
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	now := time.Now()
	found := memory.After(a.written)
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(found)), repeatsBatch) {
		within, cancel := context.WithTimeout(ctx, statementTimeout)
		err := a.upsertRepeats(within, keys, found)
		cancel()
		if err != nil { // all go again with the next write
			if !a.unwritten && ctx.Err() == nil {
				a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "repetitions cannot be written to the outcome log", slog.Any("error", dialect.Discreet(err)))
			}
			a.unwritten = true
			return
		}
	}
	a.written, a.unwritten = now, false
}

func (a *Archive) upsertRepeats(ctx context.Context, keys []string, found map[string]outcomelog.Repetitions) error {
	const columns = 5
	var text strings.Builder
	text.WriteString("INSERT INTO {{repeat}} (intent, writer, first_ms, last_ms, counted) VALUES ")
	var args []any
	for i, key := range keys {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString("(" + a.dialect.Placeholders(len(args)+1, columns) + ")")
		of := found[key]
		row := counted{Counts: of.Counts}
		for _, one := range of.Recent {
			row.Recent = append(row.Recent, recent{one.At.UnixMilli(), one.Outcome, one.Status})
		}
		body, err := json.Marshal(row)
		if err != nil {
			return err
		}
		args = append(args, key, a.writer, of.First.UnixMilli(), of.Last.UnixMilli(), string(body))
	}
	if a.dialect == dialect.MySQL {
		text.WriteString(" ON DUPLICATE KEY UPDATE last_ms = VALUES(last_ms), counted = VALUES(counted)")
	} else {
		text.WriteString(" ON CONFLICT (intent, writer, first_ms) DO UPDATE SET last_ms = excluded.last_ms, counted = excluded.counted")
	}
	//semel:safe it sets totals
	_, err := a.db.ExecContext(ctx, a.text(text.String()), args...)
	return err
}

// forgetRepeats removes repetitions that are too old, and the oldest beyond the bound.
func (a *Archive) forgetRepeats(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	one := a.dialect.Placeholder(1)
	for query, bound := range map[string]int64{
		"SELECT {{now}} - " + one: a.opts.Retention.Milliseconds(),
		"SELECT last_ms FROM {{repeat}} ORDER BY last_ms DESC LIMIT 1 OFFSET " + one: max(1, a.opts.MaxRows/repeatsShare),
	} {
		if err := a.forgetUntil(within, query, bound); err != nil && ctx.Err() == nil {
			a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "old repetitions in the outcome log cannot be removed", slog.Any("error", dialect.Discreet(err)))
		}
	}
}

// forgetUntil removes what was last repeated until the time that the query returns, if it returns one.
func (a *Archive) forgetUntil(ctx context.Context, query string, bound int64) error {
	var until int64
	//semel:safe it only reads
	switch err := a.db.QueryRowContext(ctx, a.text(query), bound).Scan(&until); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	//semel:safe what is too old once stays too old
	_, err := a.db.ExecContext(ctx, a.text("DELETE FROM {{repeat}} WHERE last_ms <= "+a.dialect.Placeholder(1)), until)
	return err
}
