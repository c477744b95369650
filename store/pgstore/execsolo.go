package pgstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/together"
	"github.com/semel-dev/semel/store/internal/verb"
)

var _ semel.Tx = (*solo)(nil)

// soloist opens transactions that are one statement.
type soloist struct {
	store *Store
	query *Query
	text  string // the query in tx_exec.sql
	most  int    // bytes of the largest outcome kept
	begun bool

	// What was recorded.
	fence   int64
	outcome []byte
}

// Transaction implements [semel.Transactor]. What is asked about a statement
// whose answer was lost claims in the way of the row: that waits for the
// statement, which holds no other lock.
func (s *soloist) Transaction(ctx context.Context) (semel.Tx, error) {
	if s.begun {
		t, err := s.store.transaction(ctx, "")
		if err != nil {
			return nil, err
		}
		t.rowFirst = true
		return t, nil
	}
	if err := s.store.gate.Enter("exec", verb.Writes); err != nil {
		return nil, err
	}
	t := &solo{soloist: s, shares: s.store.execs.takes(s.text)}
	if !t.shares {
		if err := t.connect(ctx); err != nil {
			s.store.gate.Leave()
			return nil, err
		}
	}
	s.begun = true
	return t, nil
}

// solo is a transaction that is one statement, sent by Commit.
type solo struct {
	*soloist

	shares bool          // a transaction with others, as long as it has no connection
	conn   *pgxpool.Conn // nil until it goes alone
	left   bool
	kept   time.Duration // the retention, in a transaction with others
	params semel.ClaimParams
}

// connect takes a connection to go alone.
func (t *solo) connect(ctx context.Context) error {
	conn, err := t.store.pool.Acquire(ctx)
	if err != nil {
		return translate("exec", err)
	}
	t.conn = conn
	return nil
}

// Claim sends nothing: the statement itself will find out.
func (t *solo) Claim(_ context.Context, p semel.ClaimParams, _ time.Duration) (semel.Record, bool, error) {
	if err := validate(&p); err != nil {
		return semel.Record{}, false, err
	}
	t.params = p
	return semel.Record{
		Digest: p.Digest, Scope: p.Scope, Name: p.Name, Fingerprint: p.Fingerprint, Owner: p.Owner,
		State: semel.StateClaimed, Attempt: 1,
	}, true, nil
}

// Context implements [semel.Tx].
func (*solo) Context(ctx context.Context) context.Context { return ctx }

// Commit makes the row and the record.
func (t *solo) Commit(ctx context.Context, v semel.Settlement) error {
	if t.left || t.params.Retention == 0 || !v.Kept {
		return fmt.Errorf("%w: pgstore: exec: %w", semel.ErrRolledBack, errNoClaim)
	}
	if t.shares {
		if err := t.store.execs.commit(ctx, t, v.Retention); !errors.Is(err, together.ErrAlone) {
			return err
		}
		if err := t.connect(ctx); err != nil {
			return fmt.Errorf("%w: %w", semel.ErrRolledBack, err)
		}
	}
	return t.alone(ctx, v.Retention)
}

// alone makes the row and the record in a transaction of its own.
func (t *solo) alone(ctx context.Context, kept time.Duration) error {
	t.outcome = nil // that of a transaction with others, which was undone
	w := &wire{conn: t.conn.Conn(), known: knownOf(t.conn.Conn()), into: t}
	if err := w.ready(ctx); err != nil {
		return fmt.Errorf("%w: pgstore: exec: %w", semel.ErrRolledBack, err)
	}
	b, err := bindQuery(ctx, w, t.text, t.args(kept))
	if err != nil { // before anything was done
		return fmt.Errorf("%w: %w", semel.ErrRolledBack, translate("exec", err))
	}
	b.statement.describe = false
	w.queueBind(b.statement, &b.bind)
	if err := w.roundTrip(ctx); err != nil {
		t.outcome = nil
		return t.refused(w, err) //nolint:contextcheck // what runs here must not end with the context.
	}
	return nil
}

// args are those of the query and of the record.
func (t *solo) args(kept time.Duration) []any {
	p := &t.params
	return append(t.query.Args, p.Digest[:], p.Owner[:], p.Fingerprint[:], kept.Milliseconds(), p.Scope, p.Name, int64(t.most))
}

// refused says what an error means.
func (t *solo) refused(w *wire, err error) error {
	switch {
	case unsure(err, nil):
		return translate("exec", err) // the outcome is unknown
	case lost(err, t.store.schema):
		return fmt.Errorf("%w: pgstore: exec: %w", semel.ErrLost, err)
	case code(err) == codeNoStatement:
		w.hangUp() // the driver does not know that it has lost it
	}
	t.store.execs.separate(t.text)
	return fmt.Errorf("%w: %w", semel.ErrRolledBack, translate("exec", err))
}

func (*solo) described(*statement, []pgproto3.FieldDescription) {}

func (t *solo) row(_ *statement, values [][]byte) {
	t.fence, t.outcome = integer(values[0]), bytes.Clone(values[1])
}

func (*solo) done(*statement, []byte) {}

// Recorded returns what was recorded, for the guard, once Commit has returned nil.
func (t *solo) Recorded() (semel.Fence, int) {
	return semel.Fence(t.fence), len(t.outcome) //nolint:gosec // the sequence counts from 1.
}

// MakesOutcome says that the database makes the outcome.
func (*solo) MakesOutcome() {}

// Conflict implements [semel.Tx].
func (*solo) Conflict(err error) bool { return conflict(err) }

// Rollback gives the connection back.
func (t *solo) Rollback() error {
	if t.left {
		return nil
	}
	t.left = true
	if t.conn != nil {
		t.conn.Release()
		t.conn = nil
	}
	t.store.gate.Leave()
	return nil
}

// maxTexts bounds how many statements of callers are kept filled in.
const maxTexts = 512

// execTexts are the statements of [Exec], filled in.
type execTexts struct {
	mu  sync.RWMutex // guards all
	all map[string]string
}

// exec returns template with the query in it.
func (s *txShared) exec(template string, q *Query) string {
	t := &s.texts
	t.mu.RLock()
	text, ok := t.all[q.SQL]
	t.mu.RUnlock()
	if ok {
		return text
	}
	text = fillStatement(template, q)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil || len(t.all) >= maxTexts {
		t.all = make(map[string]string)
	}
	t.all[q.SQL] = text
	return text
}

// fillStatement puts the query, and the numbers of the arguments that follow
// its own, into a template.
func fillStatement(template string, q *Query) string {
	pairs := []string{"{{statement}}", q.SQL}
	for i := 1; i <= 7; i++ {
		pairs = append(pairs, "{{"+strconv.Itoa(i)+"}}", "$"+strconv.Itoa(len(q.Args)+i))
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// decode reads the row in an outcome of Exec's.
func decode(outcome []byte) (json.RawMessage, error) {
	if row, ok := bytes.CutPrefix(outcome, []byte(`{"semel":1,"value":`)); ok && len(row) > 1 && json.Valid(row[:len(row)-1]) {
		return json.RawMessage(row[:len(row)-1]), nil // as tx_exec.sql writes it
	}
	var envelope struct {
		Version int             `json:"semel"`
		Value   json.RawMessage `json:"value"`
		Error   *string         `json:"error"`
	}
	err := json.Unmarshal(outcome, &envelope)
	switch {
	case err != nil:
		return nil, fmt.Errorf("pgstore: exec: decode the recorded row: %w", err)
	case envelope.Version != 1:
		return nil, fmt.Errorf("pgstore: exec: the recorded row has version %d, this program knows 1 (was it recorded through another door?)", envelope.Version)
	case envelope.Error != nil:
		return nil, &semel.FinalError{Message: *envelope.Error}
	}
	return envelope.Value, nil
}
