package pgstore

import (
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// columns lists the fields of [row], in its order, of the table called r.
const columns = `r.digest, r.fence, r.state, r.kept, r.attempt, r.owner, r.fingerprint,
  r.claimed_ms, r.settled_ms, r.lease_until_ms, r.expires_ms, r.scope, r.name, r.note, r.outcome`

// row is a row of the table, as it is read.
type row struct {
	verb.Row

	word string // of the state
	ms   int64
	won  bool
}

// into returns the places of the columns, and of what follows them: whether the
// row was just claimed, and the clock.
func (r *row) into() []any {
	return []any{
		&r.Digest, &r.Fence, &r.word, &r.Kept, &r.Attempt, &r.Owner, &r.Fingerprint,
		&r.ClaimedMS, &r.SettledMS, &r.LeaseUntilMS, &r.ExpiresMS, &r.Scope, &r.Name, &r.Note, &r.Outcome,
		&r.won, &r.ms,
	}
}

// scanRecord reads a record from a row of claim.sql and its like.
func scanRecord(from pgx.Row) (rec semel.Record, won bool, err error) {
	var r row
	if err := from.Scan(&r); err != nil {
		return semel.Record{}, false, err
	}
	rec, err = r.record()
	return rec, r.won, err
}

// The columns of [row.into].
const (
	atDigest = iota
	atFence
	atState
	atKept
	atAttempt
	atOwner
	atFingerprint
	atClaimed
	atSettled
	atLease
	atExpires
	atScope
	atName
	atNote
	atOutcome
	atWon
	atClock
	columnCount
)

// widths of the columns that are not text or bytes.
func widths() [columnCount]int {
	return [columnCount]int{
		atFence: 8, atKept: 1, atAttempt: 4, atClaimed: 8, atSettled: 8, atLease: 8, atExpires: 8, atWon: 1, atClock: 8,
	}
}

// ScanRow implements [pgx.RowScanner]. It reads the columns without pgx's plan for each of
// them, which took six of the 21 allocations of a replay.
func (r *row) ScanRow(rows pgx.Rows) error {
	values, fields := rows.RawValues(), rows.FieldDescriptions()
	plain := len(values) == columnCount && len(fields) == columnCount
	for i, width := range widths() {
		plain = plain && (width == 0 || len(values[i]) == width) &&
			(fields[i].Format == pgx.BinaryFormatCode || fields[i].DataTypeOID == pgtype.TextOID)
	}
	if plain {
		return r.decode(values)
	}
	return r.named(rows.Scan(r.into()...)) // the pool asks for text, or the server has other integers
}

// named finds the state of a row that was read.
func (r *row) named(err error) error {
	if err == nil {
		r.State, err = verb.State(r.word)
	}
	return err
}

// decode reads columns in the binary format. The memory of values is the connection's,
// so all bytes are copied.
func (r *row) decode(values [][]byte) (err error) {
	memory := make([]byte, 0, len(values[atDigest])+len(values[atOwner])+len(values[atFingerprint])+len(values[atOutcome]))
	kept := func(at int) []byte {
		if values[at] == nil {
			return nil
		}
		from := len(memory)
		memory = append(memory, values[at]...)
		return memory[from:len(memory):len(memory)]
	}
	r.Digest, r.Owner, r.Fingerprint, r.Outcome = kept(atDigest), kept(atOwner), kept(atFingerprint), kept(atOutcome)
	var room [512]byte
	texts := string(append(append(append(room[:0], values[atScope]...), values[atName]...), values[atNote]...))
	r.Scope, texts = texts[:len(values[atScope])], texts[len(values[atScope]):]
	r.Name, r.Note = texts[:len(values[atName])], texts[len(values[atName]):]
	r.Fence, r.ms = integer(values[atFence]), integer(values[atClock])
	r.ClaimedMS, r.SettledMS = integer(values[atClaimed]), integer(values[atSettled])
	r.LeaseUntilMS, r.ExpiresMS = integer(values[atLease]), integer(values[atExpires])
	r.Attempt = int(int32(binary.BigEndian.Uint32(values[atAttempt]))) //nolint:gosec // the same bits.
	r.Kept, r.won = values[atKept][0] != 0, values[atWon][0] != 0
	r.State, err = verb.State(values[atState])
	return err
}

// readAt is the clock when the row was read, but not before what other
// transactions wrote while the statement ran. Where the clock was set back since,
// it is the clock: nothing must seem to have ended by a time that the database,
// which decides, has not reached (promise 9).
func (r *row) readAt() int64 {
	latest := max(r.ms, r.ClaimedMS, r.SettledMS)
	ends := func(end int64) bool { return r.ms < end && end <= latest }
	if ends(r.ExpiresMS) || r.State == semel.StateClaimed && ends(r.LeaseUntilMS) {
		return r.ms
	}
	return latest
}

// record returns the row as the contract shows it.
func (r *row) record() (semel.Record, error) {
	r.ReadAtMS = r.readAt()
	return r.Record()
}

// noRow reports whether a statement found nothing.
func noRow(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
