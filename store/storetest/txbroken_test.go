package storetest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// bugged is a transactor whose transactions have a bug.
type bugged struct {
	semel.Transactor

	bug string
}

func (b bugged) Transaction(ctx context.Context) (semel.Tx, error) {
	tx, err := b.Transactor.Transaction(ctx)
	return &buggedTx{Tx: tx, bug: b.bug}, err
}

type buggedTx struct {
	semel.Tx

	bug string
}

func (tx *buggedTx) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (semel.Record, bool, error) {
	if tx.bug == "gives up at once" {
		wait = 0
	}
	rec, won, err := tx.Tx.Claim(ctx, p, wait)
	switch {
	case tx.bug == "untranslated" && errors.Is(err, semel.ErrInFlight):
		err = errors.New("lock wait timeout exceeded")
	case tx.bug == "takes over" && err == nil && (rec.Lapsed() || rec.State == semel.StateUnknown):
		won = true
	case tx.bug == "fence of its own" && won:
		rec.Fence = 1
	case tx.bug == "owner forgotten":
		rec.Owner = semel.Owner{}
	}
	return rec, won, err
}

func (tx *buggedTx) Context(ctx context.Context) context.Context {
	if tx.bug == "values lost" {
		ctx = context.WithoutCancel(context.Background())
	}
	return tx.Tx.Context(ctx)
}

func (tx *buggedTx) Commit(ctx context.Context, s semel.Settlement) error {
	switch {
	case tx.bug == "kept by force":
		s.Kept = true
	case tx.bug == "note dropped":
		s.Note = ""
	case tx.bug == "unknown rolls back" && s.State == semel.StateUnknown:
		return tx.Tx.Rollback()
	case tx.bug == "tombstone rolls back" && s.State == semel.StateCancelled:
		return tx.Tx.Rollback()
	case tx.bug == "retention halved":
		s.Retention /= 2
	}
	err := tx.Tx.Commit(ctx, s)
	if tx.bug == "commit denied" && err == nil {
		err = semel.ErrRolledBack
	}
	return err
}

func (tx *buggedTx) Conflict(err error) bool {
	return tx.bug == "everything conflicts" || tx.Tx.Conflict(err)
}

func (tx *buggedTx) Rollback() error {
	if tx.bug == "rollback commits" {
		_ = tx.Tx.Commit(context.Background(), semel.Settlement{State: semel.StateUnknown, Retention: time.Hour})
	}
	return tx.Tx.Rollback()
}

// dirty is a database that shows what is not committed.
type dirty struct {
	*memdb.DB

	below semel.Store
}

func (d *dirty) Lookup(ctx context.Context, digest semel.Digest) (semel.Record, error) {
	return d.below.Lookup(ctx, digest)
}

func buggedTxs(bug string) storetest.TxHarness {
	return func(tb testing.TB) *storetest.TxInstance {
		tb.Helper()
		var mu sync.Mutex // guards now
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		clock := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
		below := memstore.New(&memstore.Options{Now: clock})
		db := memdb.New(below, nil)
		dbs := []*memdb.DB{db}
		inst := &storetest.TxInstance{
			Store: db, Transactor: bugged{db, bug}, Second: bugged{db.Pool(), bug}, Connections: memdb.DefaultConnections,
			Insert: func(ctx context.Context, row string) error {
				switch bug {
				case "row outside":
					return db.Insert(tb.Context(), row) //nolint:contextcheck // it is the bug.
				case "row lost":
					return nil
				}
				return db.Insert(ctx, row)
			},
			Count: func(_ context.Context, row string) (int, error) {
				n := 0
				for _, db := range dbs {
					n += db.Count(row)
				}
				return n, nil
			},
			Advance: func(d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				now = now.Add(d)
			},
		}
		switch bug {
		case "dirty reads":
			inst.Store = &dirty{db, below}
		case "two databases":
			other := memdb.New(memstore.New(&memstore.Options{Now: clock}), nil)
			dbs = append(dbs, other)
			inst.Second = other
		}
		return inst
	}
}

// TestBrokenTransactions shows that the rules about transactions can fail.
func TestBrokenTransactions(t *testing.T) {
	t.Parallel()
	byName := map[string]storetest.TxRule{}
	for _, rule := range storetest.TxRules() {
		byName[rule.Name] = rule
	}
	for bug, rules := range map[string][]string{
		"":                     nil,
		"row outside":          {"tx/claim-absent", "tx/rollback", "tx/commit-invalid", "dotx/error", "dotx/panic", "dotx/cancelled"},
		"row lost":             {"tx/commit", "tx/race", "dotx/duplicates"},
		"gives up at once":     {"tx/wait-commit", "tx/wait-rollback", "tx/race", "dotx/two-guards"},
		"untranslated":         {"tx/wait-bound"},
		"takes over":           {"tx/claim-takeover", "tx/claim-shown", "tx/commit-unknown"},
		"fence of its own":     {"tx/fences", "tx/commit", "tx/claim-released"},
		"owner forgotten":      {"tx/claim-absent", "tx/claim-shown"},
		"values lost":          {"tx/context"},
		"kept by force":        {"tx/commit-not-kept"},
		"note dropped":         {"tx/commit-unknown"},
		"tombstone rolls back": {"tx/commit-cancelled"},
		"unknown rolls back":   {"tx/commit-unknown", "dotx/unknown"},
		"retention halved":     {"tx/commit", "tx/expiry", "dotx/retention"},
		"commit denied":        {"tx/commit"},
		"everything conflicts": {"tx/conflict"},
		"rollback commits":     {"tx/rollback", "dotx/error"},
		"dirty reads":          {"tx/claim-absent"},
		"two databases":        {"tx/wait-commit", "tx/wait-bound", "tx/race", "tx/claim-shown", "dotx/two-guards"},
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			for _, name := range rules {
				rule, ok := byName[name]
				if !ok {
					t.Fatalf("no rule is named %q", name)
				}
				wantNoticed(t, 1, name, rule.Promise, func(tb testing.TB) { tb.Helper(); rule.Check(tb, buggedTxs(bug)) })
			}
		})
	}
}

// TestTransactions shows that the rules accept a database without a bug.
func TestTransactions(t *testing.T) {
	t.Parallel()
	storetest.RunTx(t, buggedTxs(""))
}
