package pgstore_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// Promise 1: when the server undoes a batch because of its settlement, its claim is
// undone too, and not won once it belongs to another process.
func TestBatchIsUndoneAsAWhole(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	held := wins(t, s, params("held"))
	// The first change of a record waits for a lock, and then fails as a conflict does.
	p := pool(t, testserver.Postgres(t), 3)
	name := quoted(s.SchemaName())
	execute(t, p, "CREATE SEQUENCE "+name+".times; CREATE FUNCTION "+name+".once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "+
		"IF nextval('"+name+".times') = 1 THEN PERFORM pg_advisory_xact_lock(hashtext('"+name+"')); RAISE serialization_failure; END IF; "+
		"RETURN NEW; END $$; CREATE TRIGGER once BEFORE UPDATE ON "+name+".record FOR EACH ROW EXECUTE FUNCTION "+name+".once()")
	gate, err := p.Begin(t.Context())
	noError(t, err)
	t.Cleanup(func() { _ = gate.Rollback(context.WithoutCancel(t.Context())) }) // where the test failed before
	_, err = gate.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtext('"+name+"'))", pgx.QueryExecModeSimpleProtocol)
	noError(t, err)

	mine, theirs := params("k"), params("k")
	theirs.Owner = semel.Owner{2}
	type result struct {
		answer semel.ClaimAnswer
		settle error
		err    error
	}
	batch, rival := make(chan result, 1), make(chan result, 1)
	go func() {
		won, settled, err := s.Batch(t.Context(), []semel.ClaimParams{mine},
			[]semel.SettleParams{{Digest: held.Digest, Fence: held.Fence, Settlement: completed("one")}})
		if err != nil {
			batch <- result{err: err}
			return
		}
		batch <- result{answer: won[0], settle: settled[0]}
	}()
	waitsForALock(t, s)
	other := newStore(t, p, &pgstore.Options{Schema: s.SchemaName()})
	closes(t, other)
	go func() {
		var r result
		r.answer.Record, r.answer.Won, r.err = other.Claim(t.Context(), theirs)
		rival <- r
	}()
	testserver.Eventually(t, "batch and rival wait", func() bool {
		var n int
		noError(t, p.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1",
			"%"+s.SchemaName()+"%").Scan(&n))
		return n == 2 || len(rival) > 0
	})
	noError(t, gate.Rollback(t.Context()))

	b, r := <-batch, <-rival
	noError(t, b.err)
	noError(t, b.answer.Err)
	noError(t, b.settle)
	noError(t, r.err)
	if b.answer.Won == r.answer.Won || b.answer.Record.Owner != r.answer.Record.Owner || b.answer.Record.Fence != r.answer.Record.Fence {
		t.Errorf("the batch won: %v (%v); its rival: %v (%v); want one winner, and one record", b.answer.Won, b.answer.Record, r.answer.Won, r.answer.Record)
	}
	wantCompleted(t, s, held.Digest)
}

// The claims and settlements of a batch share a commit.
func TestBatchIsOneCommit(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	held := wins(t, s, params("held"))
	won, settled, err := s.Batch(t.Context(), []semel.ClaimParams{params("a"), params("b")},
		[]semel.SettleParams{{Digest: held.Digest, Fence: held.Fence, Settlement: completed("one")}})
	if err != nil || !won[0].Won || !won[1].Won || settled[0] != nil {
		t.Fatal(won, settled, err)
	}
	var transactions int
	noError(t, pool(t, testserver.Postgres(t), 1).QueryRow(t.Context(),
		"SELECT count(DISTINCT xmin::text) FROM "+quoted(s.SchemaName())+".record").Scan(&transactions))
	if transactions != 1 {
		t.Errorf("the rows of one batch were written by %d transactions", transactions)
	}
}

// Promise 7: a batch without a reply is an error, whether it was made or not, and its
// repetition finds out.
func TestBatchWithoutAReply(t *testing.T) {
	t.Parallel()
	near := open(t, nil)
	u, err := url.Parse(testserver.Postgres(t))
	noError(t, err)
	proxy := testserver.NewProxy(t, u.Host)
	far := newStore(t, pool(t, with(t, testserver.Postgres(t), func(u *url.URL, _ url.Values) { u.Host = proxy.Addr() }), 2),
		&pgstore.Options{Schema: near.SchemaName()})
	closes(t, far)
	for name, lose := range map[string]func(){"after": proxy.LoseReplies, "at the commit": func() { proxy.CutAfter(50) }} {
		held := wins(t, far, params("held "+name))
		claims := []semel.ClaimParams{params("a " + name), params("b " + name)}
		settles := []semel.SettleParams{{Digest: held.Digest, Fence: held.Fence, Settlement: completed("one")}}
		_, _, err := far.Batch(t.Context(), []semel.ClaimParams{params("warm " + name)}, nil) // its statement is prepared
		noError(t, err)
		lose()
		if _, _, err := far.Batch(t.Context(), claims, settles); err == nil {
			t.Fatalf("%s: got no error for a lost reply", name)
		}
		proxy.Clear()
		won, settled, err := far.Batch(t.Context(), claims, settles)
		noError(t, err)
		for i, a := range won {
			if a.Err != nil || !a.Won || a.Record.Attempt != 1 {
				t.Errorf("%s: claim %d: got %+v, want it won once", name, i, a)
			}
		}
		noError(t, settled[0])
		wantCompleted(t, near, held.Digest)
	}
}

func wantCompleted(t *testing.T, s semel.Store, d semel.Digest) {
	t.Helper()
	if rec, err := s.Lookup(t.Context(), d); err != nil || rec.State != semel.StateCompleted || string(rec.Outcome) != "one" {
		t.Errorf("got %v, %q, %v; want the settlement", rec.State, rec.Outcome, err)
	}
}
