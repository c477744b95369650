package semel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
)

// Promise 4: whatever becomes of the commit's reply, Complete says whether row
// and record are there, or that it is unknown.
func TestCommitWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fail      func(*faults)
		want      error
		committed bool
		took      time.Duration
	}{
		"committed": {
			fail:      func(f *faults) { f.set(memdb.Committed, func() error { return errBroken }) },
			committed: true,
		},
		"not committed": {
			fail: func(f *faults) { f.set(memdb.Commit, func() error { return errBroken }) },
			want: semel.ErrRolledBack,
		},
		"the database comes back": {
			fail: func(f *faults) {
				f.set(memdb.Committed, func() error { return errBroken })
				f.set(memdb.Begin, times(2, errBroken))
			},
			committed: true, took: 15 * time.Millisecond, // two pauses
		},
		"the first transaction takes its time to end": {
			fail: func(f *faults) {
				f.set(memdb.Committed, func() error { return errBroken })
				f.set(memdb.Claim, times(3, semel.ErrInFlight))
			},
			committed: true, took: 35 * time.Millisecond,
		},
		"the database stays away": {
			fail: func(f *faults) {
				f.set(memdb.Committed, func() error { return errBroken })
				f.set(memdb.Begin, func() error { return errBroken })
			},
			want: semel.ErrUnknown, committed: true, took: 5 * time.Second,
		},
		"the database stays away, uncommitted": {
			fail: func(f *faults) {
				f.set(memdb.Commit, func() error { return errBroken })
				f.set(memdb.Begin, func() error { return errBroken })
			},
			want: semel.ErrUnknown, took: 5 * time.Second,
		},
		"an error that says nothing": {
			fail:      func(f *faults) { f.set(memdb.Committed, func() error { return semel.ErrClosed }) },
			committed: true,
		},
		"refused": {
			fail: func(f *faults) { f.set(memdb.Commit, func() error { return semel.ErrRolledBack }) },
			want: semel.ErrRolledBack,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, f, g := openTx(t, memdb.Options{}, nil)
				claim := mustBeginTx(t, g, db, "a")
				tt.fail(f)
				began := time.Now()
				err := claim.Complete([]byte("one"), nil)
				if !errors.Is(err, tt.want) || time.Since(began) != tt.took {
					t.Errorf("got %v after %v, want %v after %v", err, time.Since(began), tt.want, tt.took)
				}
				if e, ok := errors.AsType[*semel.Error](err); ok && (!e.Retryable() || e.RetryAfter == 0) {
					t.Errorf("%v: retryable %v after %v, want a retry", err, e.Retryable(), e.RetryAfter)
				}
				f.hooks = nil
				rec, err := db.Lookup(t.Context(), claim.Digest())
				if rows := db.Count("a"); (rows == 1) != tt.committed || (err == nil) != tt.committed {
					t.Errorf("%d rows, record %v, %v; want committed: %v", rows, rec.State, err, tt.committed)
				}
				if tt.committed {
					mustReplay(t, g, testKey("a"), "one")
					return
				}
				if err := mustBeginTx(t, g, db, "a").Complete([]byte("two"), nil); err != nil {
					t.Errorf("a retry with the same key: %v", err)
				}
			})
		})
	}
}

// Promise 1: a caller without a transaction took the key. Nothing of the
// transaction remains, and a retry gets the other's answer.
func TestCommitThatLost(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*semel.TxClaim) error{
		"complete": func(c *semel.TxClaim) error { return c.Complete([]byte("one"), nil) },
		"final":    func(c *semel.TxClaim) error { return c.Final([]byte("one"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, _, g := openTx(t, memdb.Options{Optimistic: true}, nil)
			claim := mustBeginTx(t, g, db, "a")
			mustSucceed(t, mustClaim(t, newGuard(t, db, nil), testKey("a")).Complete([]byte("other"), nil))
			err := end(claim)
			e, ok := errors.AsType[*semel.Error](err)
			if !ok || !errors.Is(err, semel.ErrLost) || !errors.Is(err, semel.ErrRolledBack) || !e.Retryable() {
				t.Errorf("got %v, want ErrLost, rolled back, retryable", err)
			}
			if n := db.Count("a"); n != 0 {
				t.Errorf("%d rows, want none", n)
			}
			mustReplay(t, g, testKey("a"), "other")
		})
	}
}

// Promise 1: the reply was lost, nothing was committed, and another caller
// executed before we could ask: its record is not taken for ours.
func TestCommitWhoseReplyIsLostToAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, f, g := openTx(t, memdb.Options{}, nil)
		other := newTxGuard(t, db, nil)
		claim := mustBeginTx(t, g, db, "a")
		f.set(memdb.Commit, func() error { return errBroken })
		f.set(memdb.Begin, func() error {
			f.set(memdb.Begin, nil)
			return mustClaim(t, other, testKey("a")).Complete([]byte("other"), nil)
		})
		err := claim.Complete([]byte("one"), nil)
		if !errors.Is(err, semel.ErrLost) || !errors.Is(err, semel.ErrRolledBack) || !errors.Is(err, errBroken) || db.Count("a") != 0 {
			t.Errorf("got %v and %d rows, want ErrLost, ErrRolledBack and none", err, db.Count("a"))
		}
		mustReplay(t, g, testKey("a"), "other")
	})
}

// Promise 4: a store without room commits nothing.
func TestCommitInAFullStore(t *testing.T) {
	t.Parallel()
	db := memdb.New(memstore.New(&memstore.Options{MaxBytes: 200}), nil)
	g := newTxGuard(t, db, nil)
	err := mustBeginTx(t, g, db, "a").Complete(make([]byte, 300), []byte("summary"))
	if !errors.Is(err, semel.ErrFull) || !errors.Is(err, semel.ErrRolledBack) || db.Count("a") != 0 {
		t.Errorf("got %v and %d rows, want ErrFull, ErrRolledBack and none", err, db.Count("a"))
	}
	calls := 0
	_, err = semel.DoTx(t.Context(), g, db, testKey("a"), testFingerprint(), func(context.Context) (string, error) {
		calls++
		return string(make([]byte, 300)), nil
	})
	if !errors.Is(err, semel.ErrFull) || calls != 1 {
		t.Errorf("got %v after %d executions, want ErrFull after 1", err, calls)
	}
}

// Promise 3: what could not be recorded as unknown must not look as if a retry
// were harmless.
func TestUnknownThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*faults){
		"no connection": func(f *faults) { f.set(memdb.Begin, func() error { return errBroken }) },
		"no claim":      func(f *faults) { f.set(memdb.Claim, func() error { return semel.ErrInFlight }) },
		"no commit":     func(f *faults) { f.set(memdb.Commit, func() error { return semel.ErrRolledBack }) },
		"lost reply":    func(f *faults) { f.set(memdb.Commit, func() error { return errBroken }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, f, g := openTx(t, memdb.Options{}, nil)
				claim := mustBeginTx(t, g, db, "a")
				fail(f)
				err := claim.Unknown("the mail may be on its way")
				e, ok := errors.AsType[*semel.Error](err)
				if !ok || !errors.Is(err, semel.ErrUnknown) || e.Retryable() || e.RetryAfter != 0 {
					t.Errorf("got %v, want ErrUnknown and no retry", err)
				}
				if err := claim.Unknown(""); !errors.Is(err, semel.ErrSettled) {
					t.Errorf("the second end: got %v, want ErrSettled", err)
				}
			})
		})
	}
}

// What is final and could not be recorded was rolled back: a retry executes.
func TestFinalThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	db, f, g := openTx(t, memdb.Options{}, nil)
	claim := mustBeginTx(t, g, db, "a")
	f.set(memdb.Begin, times(1, errBroken))
	err := claim.Final([]byte("sold out"), nil)
	if e, ok := errors.AsType[*semel.Error](err); !ok || !errors.Is(err, semel.ErrRolledBack) || !e.Retryable() {
		t.Errorf("got %v, want ErrRolledBack, retryable", err)
	}
	if err := mustBeginTx(t, g, db, "a").Final([]byte("sold out"), nil); err != nil {
		t.Error(err)
	}
	mustReplay(t, g, testKey("a"), "sold out")
	if n := db.Count("a"); n != 0 {
		t.Errorf("%d rows, want none", n)
	}
}

// Promise 8: what is kept in the place of a large answer is bounded as well.
func TestSummariesAreBounded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *semel.TxClaim, outcome, summary []byte) error{
		"complete": (*semel.TxClaim).Complete, "final": (*semel.TxClaim).Final,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, _, g := openTx(t, memdb.Options{}, &semel.Options{Policy: semel.Policy{MaxOutcomeBytes: 4}})
			for key, tt := range map[string]struct{ summary, want string }{
				"short": {"sum", "sum"}, "long": {"summary", ""},
			} {
				claim := mustBeginTx(t, g, db, key)
				if err := end(claim, []byte("answer"), []byte(tt.summary)); err != nil {
					t.Error(err)
				}
				rec, err := db.Lookup(t.Context(), claim.Digest())
				if err != nil || rec.Kept || string(rec.Outcome) != tt.want {
					t.Errorf("%s summary: kept %v, %q, %v; want %q", key, rec.Kept, rec.Outcome, err, tt.want)
				}
			}
		})
	}
}
