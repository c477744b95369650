package archive

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"path"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/outcomelog"
)

const (
	// batchEvents bounds the events of one statement, and gatherFor the time for which the first of them waits for others.
	batchEvents = 256
	gatherFor   = 500 * time.Millisecond
	// statementTimeout bounds one statement, and closeTimeout the wait of Close.
	statementTimeout = 10 * time.Second
	closeTimeout     = 5 * time.Second
	// forgetEvery is the time between two removals of old rows, forgetRows bounds the rows of one statement, and
	// forgetSteps the statements of one removal.
	forgetEvery = time.Minute
	forgetRows  = 1000
	forgetSteps = 60

	maxText   = 255  // bytes of a text
	maxFields = 1024 // bytes of the list of fields
)

// again holds the pauses before a failed statement is repeated.
var again = waiting.Backoff{First: 100 * time.Millisecond, Most: 2 * time.Second} //nolint:gochecknoglobals // it is never changed.

// run is the writer. It ends when the archive is closed, and what is in the queue was written or the time for that is over.
func (a *Archive) run() {
	defer close(a.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-a.stop
		if waiting.Sleep(ctx, closeTimeout) {
			cancel()
		}
	}()
	forget := time.NewTicker(forgetEvery)
	defer forget.Stop()
	repeats := time.NewTicker(repeatsEvery)
	defer repeats.Stop()
	batch := make([]arrived, 0, batchEvents)
	written := 0 // since rows were forgotten
	for {
		select {
		case first := <-a.queue:
			batch = a.gather(append(batch[:0], first))
			a.write(ctx, batch)
			if written += len(batch); written >= forgetRows { // as many go as come
				a.forget(ctx, 1)
				written -= forgetRows
			}
		case <-forget.C:
			a.forget(ctx, forgetSteps)
			a.forgetRepeats(ctx)
		case <-repeats.C:
			a.writeRepeats(ctx)
		case <-a.stop:
			for batch = a.gather(batch[:0]); len(batch) > 0; batch = a.gather(batch[:0]) {
				a.write(ctx, batch)
			}
			a.writeRepeats(ctx)
			return
		}
	}
}

// gather adds what comes within a short time, or what is there already when the archive is being closed.
func (a *Archive) gather(batch []arrived) []arrived {
	timer := time.NewTimer(gatherFor)
	defer timer.Stop()
	stop := a.stop
	for len(batch) < batchEvents {
		select {
		case e := <-a.queue:
			batch = append(batch, e)
			continue
		default:
		}
		select {
		case e := <-a.queue:
			batch = append(batch, e)
		case <-timer.C:
			return batch
		case <-stop:
			if len(a.queue) == 0 {
				return batch
			}
		}
	}
	return batch
}

// write writes a batch once, or drops it when the archive must end.
func (a *Archive) write(ctx context.Context, batch []arrived) {
	number, failed := rand.Int64(), 0 //nolint:gosec // not a secret.
	err := again.Do(ctx, func(error) bool { return true }, func() error {
		within, cancel := context.WithTimeout(ctx, statementTimeout)
		defer cancel()
		err := a.insert(within, batch, number, failed > 0)
		if err != nil {
			if failed++; failed == 1 {
				a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the outcome log cannot be written", slog.Any("error", dialect.Discreet(err)))
			}
		}
		return err
	})
	switch {
	case err != nil:
		a.dropped.Add(uint64(len(batch)))
	case failed > 0:
		a.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "the outcome log can be written again", slog.Uint64("dropped", a.dropped.Load()))
	}
}

// insert writes a batch in one statement. A repetition first checks whether the earlier statement took effect; one that
// arrives even later violates the unique index on the number of the batch.
func (a *Archive) insert(ctx context.Context, batch []arrived, number int64, repeated bool) error {
	if repeated {
		var found int
		query := a.text("SELECT COUNT(*) FROM {{table}} WHERE batch = " + a.dialect.Placeholder(1))
		if err := a.db.QueryRowContext(ctx, query, number).Scan(&found); err != nil || found > 0 {
			return err
		}
	}
	const columns = 11 // with a placeholder
	var text strings.Builder
	text.WriteString("INSERT INTO {{table}} (batch, door, outcome, intent, intent_rest, route, rule, fields, status, made, made_name, at_ms) VALUES ")
	args := make([]any, 0, len(batch)*(columns+1))
	for i := range batch {
		e, of := &batch[i], any(nil)
		if i == 0 {
			of = number
		} else {
			text.WriteString(", ")
		}
		text.WriteString("(" + a.dialect.Placeholders(len(args)+1, columns) + ", {{now}} - " + a.dialect.Placeholder(len(args)+columns+1) + ")")
		made, key := cut(e.Made, maxText), cut(e.Key, maxKey)
		digits := min(len(key), outcomelog.KeyDigits)
		args = append(args, of, cut(string(e.Door), maxDoor), cut(string(e.Outcome), maxOutcome), key[:digits], key[digits:], cut(e.Route, maxText), cut(e.Rule, maxText),
			list(e.Fields), e.Status, made, nameOf(made), time.Since(e.at).Milliseconds())
	}
	//semel:safe the number of the batch is in a unique index
	_, err := a.db.ExecContext(ctx, a.text(text.String()), args...)
	return err
}

// The longest texts of columns that are shorter than others.
const maxDoor, maxOutcome, maxKey = 16, 32, 64

// cut shortens text to what fits, in a form that every database accepts.
func cut(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// list writes as many names of fields as fit, as JSON.
func list(fields []string) string {
	for n := len(fields); n > 0; n-- {
		clean := make([]string, n)
		for i, field := range fields[:n] {
			clean[i] = cut(field, maxText)
		}
		if text, err := json.Marshal(clean); err == nil && len(text) <= maxFields {
			return string(text)
		}
	}
	return "[]"
}

// nameOf returns the last part of the path of a created resource: 77 of /invoices/77.
func nameOf(made string) string {
	if made == "" {
		return ""
	}
	return path.Base(made)
}

// forget removes the oldest rows, in so many steps: those that are too old, and those beyond the bound.
func (a *Archive) forget(ctx context.Context, steps int) {
	for range steps {
		within, cancel := context.WithTimeout(ctx, statementTimeout)
		more, err := a.forgetSome(within)
		cancel()
		if err != nil && ctx.Err() == nil {
			a.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "old entries of the outcome log cannot be removed", slog.Any("error", dialect.Discreet(err)))
		}
		if err != nil || !more {
			return
		}
	}
}

func (a *Archive) forgetSome(ctx context.Context) (more bool, err error) {
	var greatest, last int64
	if err := a.db.QueryRowContext(ctx, a.text("SELECT COALESCE(MAX(id), 0) FROM {{table}}")).Scan(&greatest); err != nil {
		return false, err
	}
	//semel:safe it only reads
	rows, err := a.db.QueryContext(ctx, a.text("SELECT id, {{now}} - at_ms FROM {{table}} ORDER BY id LIMIT "+a.dialect.Placeholder(1)), forgetRows) //nolint:sqlclosecheck // readAll closes them.
	if err != nil {
		return false, err
	}
	seen := 0
	err = readAll(rows, func() error {
		var id, age int64
		if err := rows.Scan(&id, &age); err != nil {
			return err
		}
		if age >= a.opts.Retention.Milliseconds() || id <= greatest-a.opts.MaxRows {
			last = max(last, id)
			seen++
		}
		return nil
	})
	if err != nil || last == 0 {
		return false, err
	}
	//semel:safe what is too old once stays too old
	_, err = a.db.ExecContext(ctx, a.text("DELETE FROM {{table}} WHERE id <= "+a.dialect.Placeholder(1)), last)
	return seen == forgetRows, err
}
