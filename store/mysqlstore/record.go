package mysqlstore

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// graceMS is the least time that a row stays after its claim, even when it was
// released or has expired. A claim takes its fence when its statement begins;
// if the statement is then held up before it looks for the digest, and others
// claim and release the digest with greater fences meanwhile, it must still
// find a row of theirs, and fail. Nothing holds a statement up there for as
// long as that: it waits for no lock yet.
const graceMS = int64(5 * time.Minute / time.Millisecond)

// readRecord reads a row of the columns of columns.sql. It may have been
// released, or have expired: see [verb.Absent].
func readRecord(rows *sql.Rows) (semel.Record, error) {
	var r verb.Row
	err := rows.Scan(&r.Fence, (*sql.RawBytes)(&r.Digest), (*word)(&r.State), &r.Kept, &r.Attempt,
		(*sql.RawBytes)(&r.Owner), (*sql.RawBytes)(&r.Fingerprint), &r.ClaimedMS, &r.SettledMS, &r.LeaseUntilMS, &r.ExpiresMS,
		&r.Scope, &r.Name, &r.Note, &r.Outcome, &r.ReadAtMS)
	if err != nil {
		return semel.Record{}, fmt.Errorf("a row is not a record (was the table changed by another program?): %w", err)
	}
	return r.Record()
}

// word scans the word of a state.
type word semel.State

// Scan implements [sql.Scanner].
func (w *word) Scan(src any) error {
	b, _ := src.([]byte)
	state, err := verb.State(b)
	*w = word(state)
	return err
}
