package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// Promise 1: the fences of a digest grow even when a claim stalls between
// its fence and its row, and another one comes and goes meanwhile. The first
// claim is held in a trigger, which runs exactly there.
func TestClaimThatStoodStill(t *testing.T) {
	t.Parallel()
	const patience = 100 * time.Millisecond
	o := &pgstore.Options{Schema: testserver.PostgresSchema(t)}
	slow, quick := open(t, pgstore.Impatient(o, patience)), open(t, o)
	p := pool(t, testserver.Postgres(t), 2)
	name := quoted(o.Schema)
	gate, err := p.Acquire(t.Context())
	noError(t, err)
	defer gate.Release()
	execute(t, p, fmt.Sprintf(`CREATE FUNCTION %[1]s.stall() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.name = 'slow' THEN PERFORM pg_advisory_xact_lock_shared(hashtext('%[2]s')); END IF;
  RETURN NEW; END $$;
CREATE TRIGGER stall BEFORE INSERT ON %[1]s.record FOR EACH ROW EXECUTE FUNCTION %[1]s.stall()`, name, o.Schema))
	execOn(t, gate, fmt.Sprintf("SELECT pg_advisory_lock(hashtext('%s'))", o.Schema))

	late := params("k")
	late.Name, late.Owner = "slow", semel.Owner{2}
	type answer struct {
		rec semel.Record
		won bool
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		rec, won, err := slow.Claim(t.Context(), late)
		answered <- answer{rec, won, err}
	}()
	waits := fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND query LIKE '%%%s%%' AND "+
		"clock_timestamp() - query_start > interval '%d milliseconds'", o.Schema, patience.Milliseconds())
	testserver.Eventually(t, "the claim stalls for longer than its patience", func() bool {
		var n int
		noError(t, p.QueryRow(t.Context(), waits).Scan(&n))
		return n == 1
	})
	rec := wins(t, quick, params("k"))
	settles(t, quick, rec, semel.Settlement{State: semel.StateReleased})
	execute(t, p, fmt.Sprintf("DELETE FROM %s.record", name)) // what a sweep after the grace would do
	execOn(t, gate, fmt.Sprintf("SELECT pg_advisory_unlock(hashtext('%s'))", o.Schema))
	got := <-answered
	if got.err != nil || !got.won || got.rec.Fence <= rec.Fence {
		t.Errorf("the late claim: got fence %d, won %v, error %v, want a fence > %d", got.rec.Fence, got.won, got.err, rec.Fence)
	}
}

// A row stays for a while after its claim, whatever happened to it, so that a
// claim that stalls meets it.
func TestSweepLeavesYoungRows(t *testing.T) {
	t.Parallel()
	inst := harness(t, testserver.Postgres(t), nil)(t)
	t.Cleanup(func() { inst.Store.Close() })
	s := inst.Store.(*pgstore.Store)
	brief := params("expired")
	brief.Lease, brief.Retention = time.Millisecond, time.Millisecond
	wins(t, s, brief)
	released := params("released")
	released.Retention = time.Millisecond
	settles(t, s, wins(t, s, released), semel.Settlement{State: semel.StateReleased})
	soon := completed("x")
	soon.Retention = time.Millisecond
	settles(t, s, wins(t, s, params("settled")), soon)
	inst.Advance(4 * time.Minute)
	for _, p := range []semel.ClaimParams{brief, released, params("settled")} {
		wantGone(t, s, p.Digest)
	}
	sweeps(t, s, 10, 0)
	inst.Advance(time.Minute)
	sweeps(t, s, 10, 3)
}

// Promise 1: a sequence that was set back gives nothing again: an open store
// refuses each claim, and no other store opens.
func TestSequenceSetBack(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	p := pool(t, testserver.Postgres(t), 1)
	for i := range 3 {
		wins(t, s, params(fmt.Sprint(i)))
	}
	execute(t, p, fmt.Sprintf("SELECT setval('%s.fence', 1)", s.SchemaName()))
	_, won, err := s.Claim(t.Context(), params("again"))
	wantWords(t, err, "claim", "set back", "greatest fence")
	if won {
		t.Error("the claim was won")
	}
	execute(t, p, fmt.Sprintf("SELECT setval('%s.fence', 1)", s.SchemaName()))
	refuses(t, testserver.Postgres(t), &pgstore.Options{Schema: s.SchemaName()}, "is at 1, but a record has 3", "SELECT setval", "1000003")
	execute(t, p, fmt.Sprintf(`SELECT setval('"%s"."fence"', 1000003)`, s.SchemaName()))
	if rec := wins(t, open(t, &pgstore.Options{Schema: s.SchemaName()}), params("new")); rec.Fence != 1000004 {
		t.Errorf("got fence %d, want 1000004", rec.Fence)
	}
}
