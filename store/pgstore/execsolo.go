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
	conn, err := s.store.pool.Acquire(ctx)
	if err != nil {
		s.store.gate.Leave()
		return nil, translate("exec", err)
	}
	s.begun = true
	return &solo{soloist: s, conn: conn}, nil
}

// solo is a transaction that is one statement, sent by Commit.
type solo struct {
	*soloist

	conn   *pgxpool.Conn
	params semel.ClaimParams
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
	if t.conn == nil || t.params.Retention == 0 || !v.Kept {
		return fmt.Errorf("%w: pgstore: exec: %w", semel.ErrRolledBack, errNoClaim)
	}
	w := &wire{conn: t.conn.Conn(), known: knownOf(t.conn.Conn()), into: t}
	if err := w.ready(ctx); err != nil {
		return fmt.Errorf("%w: pgstore: exec: %w", semel.ErrRolledBack, err)
	}
	p := &t.params
	b, err := bindQuery(ctx, w, t.text, append(t.query.Args,
		p.Digest[:], p.Owner[:], p.Fingerprint[:], v.Retention.Milliseconds(), p.Scope, p.Name, int64(t.most)))
	if err != nil { // before anything was done
		return fmt.Errorf("%w: %w", semel.ErrRolledBack, translate("exec", err))
	}
	b.statement.describe = false
	w.queueBind(b.statement, &b.bind)
	if err := w.run(ctx); err != nil {
		t.outcome = nil
		return t.refused(w, err) //nolint:contextcheck // what runs here must not end with the context.
	}
	return nil
}

// refused says what an error means.
func (t *solo) refused(w *wire, err error) error {
	f, ok := errors.AsType[*failure](err)
	switch {
	case ok && f.at == nil:
		return translate("exec", err) // the outcome is unknown
	case lost(err, t.store.schema):
		return fmt.Errorf("%w: pgstore: exec: %w", semel.ErrLost, err)
	case code(err) == codeNoStatement:
		w.hangUp() // the driver does not know that it has lost it
	}
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

// Conflict implements [semel.Tx].
func (*solo) Conflict(err error) bool { return conflict(err) }

// Rollback gives the connection back.
func (t *solo) Rollback() error {
	if t.conn != nil {
		t.conn.Release()
		t.conn = nil
		t.store.gate.Leave()
	}
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
