package mysqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/storetest"
)

// batched does every Claim and Settle in a batch, together with steps of other
// intents: some that go well, some that do not.
type batched struct {
	*mysqlstore.Store

	minted *atomic.Int64
}

var errNoise = errors.New("a step of another intent was not answered as it must be")

func (b *batched) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	n := b.minted.Add(1)
	ps := append(batchOf(fmt.Sprint("noise ", n, " "), 3), p)
	ps[1].Lease = 0
	answers, err := b.ClaimBatch(ctx, ps)
	if err != nil {
		return semel.Record{}, false, err
	}
	for i, a := range answers[:3] {
		if (a.Err == nil) != (i != 1) || a.Won != (i != 1) {
			return semel.Record{}, false, fmt.Errorf("%w: claim %d: %+v", errNoise, i, a)
		}
	}
	if err := b.giveBack(ctx, answers); err != nil {
		return semel.Record{}, false, err
	}
	return answers[3].Record, answers[3].Won, answers[3].Err
}

// giveBack releases the other intents, in one batch, which changes nothing
// that the rules see.
func (b *batched) giveBack(ctx context.Context, answers []semel.ClaimAnswer) error {
	ss := settlementsOf([]semel.ClaimAnswer{answers[0], answers[2]}, retention)
	for i := range ss {
		ss[i].Settlement = semel.Settlement{State: semel.StateReleased}
	}
	errs, err := b.SettleBatch(ctx, ss)
	if err := errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("%w: release: %w", errNoise, err)
	}
	return nil
}

func (b *batched) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	n := b.minted.Add(1)
	lost := params(fmt.Sprint("lost ", n)).Digest
	ss := []semel.SettleParams{
		{Digest: lost, Fence: f, Settlement: completed("x")}, // the fence of another digest
		{Digest: d, Fence: f, Settlement: to},
		{Digest: params(fmt.Sprint("invalid ", n)).Digest, Fence: f, Settlement: semel.Settlement{State: semel.StateClaimed}},
	}
	errs, err := b.SettleBatch(ctx, ss)
	if err != nil {
		return err
	}
	if errs[2] == nil || (errs[0] == nil || !errors.Is(errs[0], semel.ErrLost)) && ctx.Err() == nil && !errors.Is(errs[1], semel.ErrClosed) {
		return fmt.Errorf("%w: settle: %w, %w", errNoise, errs[0], errs[2])
	}
	return errs[1]
}

// List and Sweep are not what the rules expect, because of the other intents.
func (b *batched) List()  {}
func (b *batched) Sweep() {}

// hidden reports whether a rule is about what batched does not have.
func hidden(rule string) bool {
	return strings.HasPrefix(rule, "list/") || strings.HasPrefix(rule, "sweep/") || strings.HasPrefix(rule, "count/") || strings.HasSuffix(rule, "-swept")
}

// A batch does for each of its steps what the verb does: the whole contract
// holds through batches, with failing steps next to each.
func TestBatchedStore(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(*mysqlstore.Options) *mysqlstore.Options{
		"returning": nil, "not returning": mysqlstore.WithoutReturning,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness(t, fast, with)
			for _, rule := range storetest.Rules() {
				if hidden(rule.Name) {
					continue
				}
				t.Run(rule.Name, func(t *testing.T) {
					t.Parallel()
					rule.Check(t, func(tb testing.TB) *storetest.Instance {
						tb.Helper()
						inst := h(tb)
						minted := &atomic.Int64{}
						wrap := func(s semel.Store) semel.Store {
							store, _ := s.(*mysqlstore.Store)
							return &batched{Store: store, minted: minted}
						}
						reopen := inst.Reopen
						inst.Store = wrap(inst.Store)
						inst.Reopen = func(tb testing.TB) semel.Store {
							tb.Helper()
							return wrap(reopen(tb))
						}
						return inst
					})
				})
			}
		})
	}
}

// The answers come in the order of the steps, whatever their order in the
// table, for any number of steps.
func TestBatchOfAnySize(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(*mysqlstore.Options) *mysqlstore.Options{
		"returning": nil, "not returning": mysqlstore.WithoutReturning,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := ticking(t, fast, with)
			for _, n := range []int{0, 1, 2, 3, 17, 63, 64, 65, 200} {
				ps := batchOf(fmt.Sprint("of ", n, " "), n)
				answers, err := s.ClaimBatch(t.Context(), ps)
				if err != nil || len(answers) != n {
					t.Fatalf("%d claims: %d answers, error %v", n, len(answers), err)
				}
				for i, a := range answers {
					if a.Err != nil || !a.Won || a.Record.Name != ps[i].Name || a.Record.Digest != ps[i].Digest {
						t.Fatalf("claim %d of %d: got %+v, want it won", i, n, a)
					}
				}
				errs, err := s.SettleBatch(t.Context(), settlementsOf(answers, retention))
				if err := errors.Join(append(errs, err)...); err != nil || len(errs) != n {
					t.Fatalf("%d settlements: %d answers, error %v", n, len(errs), err)
				}
				for i := range ps {
					if rec, err := s.Lookup(t.Context(), ps[i].Digest); err != nil || string(rec.Outcome) != "answer of "+ps[i].Name {
						t.Fatalf("settlement %d of %d: got %q, error %v", i, n, rec.Outcome, err)
					}
				}
			}
		})
	}
}

// One step's error touches no other, whatever is wrong with it.
func TestBatchWithPoison(t *testing.T) {
	t.Parallel()
	s, _, advance := ticking(t, fast, nil)
	ps := batchOf("k", 12)
	before, err := s.ClaimBatch(t.Context(), ps)
	if err != nil {
		t.Fatal(err)
	}
	rec := func(i int) *semel.Record { return &before[i].Record }
	ss := settlementsOf(before, retention)
	settles(t, s, *rec(0), completed("before"))                          // settled otherwise
	settles(t, s, *rec(1), ss[1].Settlement)                             // settled the same
	settles(t, s, *rec(2), semel.Settlement{State: semel.StateReleased}) // gone
	settles(t, s, *rec(3), semel.Settlement{State: semel.StateUnknown, Retention: retention})
	ss[4].Fence++                                                          // another's fence
	ss[5].Settlement.Outcome = make([]byte, 17<<20)                        // more than the server takes
	ss[6].Settlement.Retention = 0                                         // invalid
	ss[7].Settlement.Outcome = []byte{0xFF, 0, '\'', '\\', 0xBF, '"', '?'} // no text
	ss[8].Settlement = semel.Settlement{State: semel.StateReleased}
	ss[9].Settlement = semel.Settlement{State: semel.StateUnknown, Note: "why “not”", Retention: retention}
	ss[10].Settlement.Outcome = nil
	ss[11].Settlement.Outcome = bytes.Repeat([]byte{0xE9}, 3<<20)
	errs, err := s.SettleBatch(t.Context(), ss)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]error{0: semel.ErrSettled, 2: semel.ErrLost, 4: semel.ErrLost, 5: semel.ErrFull} {
		if !errors.Is(errs[i], want) {
			t.Errorf("step %d: got %v, want %v", i, errs[i], want)
		}
	}
	if errs[6] == nil {
		t.Error("step 6: got no error, want one about the retention")
	}
	for _, i := range []int{1, 3, 7, 8, 9, 10, 11} {
		if errs[i] != nil {
			t.Errorf("step %d: %v", i, errs[i])
		}
		if i == 8 {
			continue
		}
		got, err := s.Lookup(t.Context(), ss[i].Digest)
		if err != nil || got.State != ss[i].Settlement.State || !bytes.Equal(got.Outcome, ss[i].Settlement.Outcome) || got.Note != ss[i].Settlement.Note {
			t.Errorf("step %d: got %v with %q, error %v, want what was settled", i, got.State, got.Note, err)
		}
	}
	for i, want := range map[int]semel.State{0: semel.StateCompleted, 4: semel.StateClaimed, 5: semel.StateClaimed, 6: semel.StateClaimed} {
		if got, err := s.Lookup(t.Context(), ss[i].Digest); err != nil || got.State != want {
			t.Errorf("step %d: got %v, error %v, want %v", i, got.State, err, want)
		}
	}

	// Duplicates of all that, of a lapsed claim that is taken over, and new intents among them.
	advance(lease)
	again := append(slices.Clone(ps), batchOf("new", 5)...)
	for i := range again {
		again[i].Owner = semel.Owner{2}
	}
	again[4].TakeOver = rec(4).Fence
	again[6].TakeOver = rec(6).Fence + 1
	again[12].Lease = 0
	again[13].Owner = semel.Owner{}
	for _, forget := range []bool{false, true} {
		if forget {
			s.Forget()
			again[4].TakeOver, again[14], again[15], again[16] = 0, by(2, params("new7")), by(2, params("new8")), by(2, params("new9"))
			again[13] = params("new6")
			again[13].Owner = semel.Owner{}
		}
		answers, err := s.ClaimBatch(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			won := i == 2 || i == 8 || i == 4 || i >= 13
			if (a.Err != nil) != (i == 12) || a.Won != won {
				t.Errorf("forgot %v, claim %d: won %v, %v, error %v", forget, i, a.Won, a.Record.State, a.Err)
			}
			if i == 4 && a.Record.Attempt != 2 {
				t.Errorf("the takeover is attempt %d, want 2", a.Record.Attempt)
			}
		}
	}
}

// Batches, single verbs and batches of others at once: each intent is won
// once, and what was settled stays (promises 1 and 2).
func TestBatchesRace(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	stores := []*mysqlstore.Store{open(t, dsn, nil), open(t, dsn, nil)}
	const rounds, racers, keys = 6, 6, 40
	for round := range rounds {
		ps := batchOf(fmt.Sprint("round ", round, " "), keys)
		var mu sync.Mutex // guards the fields below
		winners, fences := map[string]semel.Owner{}, map[semel.Fence]string{}
		note := func(rec semel.Record) {
			mu.Lock()
			defer mu.Unlock()
			if winners[rec.Name] != (semel.Owner{}) || fences[rec.Fence] != "" {
				t.Errorf("%s was won by %x and %x, fence %d was given to %q", rec.Name, winners[rec.Name], rec.Owner, rec.Fence, fences[rec.Fence])
			}
			winners[rec.Name], fences[rec.Fence] = rec.Owner, rec.Name
		}
		var wg sync.WaitGroup
		for r := range racers {
			wg.Go(func() { raceBatch(t, stores[r%len(stores)], byte(r+1), ps, r%3 == 2, note) })
		}
		wg.Wait()
		for _, p := range ps {
			rec, err := stores[0].Lookup(t.Context(), p.Digest)
			if owner := winners[p.Name]; err != nil || string(rec.Outcome) != fmt.Sprintf("by %x", owner) {
				t.Errorf("%s: got %q, error %v, want what %x settled", p.Name, rec.Outcome, err, owner)
			}
		}
	}
}

func raceBatch(t *testing.T, s *mysqlstore.Store, who byte, all []semel.ClaimParams, single bool, note func(semel.Record)) {
	t.Helper()
	ps := slices.Clone(all)
	for i := range ps {
		ps[i].Owner = semel.Owner{who}
	}
	if who%2 == 0 {
		slices.Reverse(ps)
	}
	var ss []semel.SettleParams
	settle := func(rec semel.Record) {
		note(rec)
		ss = append(ss, semel.SettleParams{Digest: rec.Digest, Fence: rec.Fence, Settlement: completed(fmt.Sprintf("by %x", rec.Owner))})
	}
	if single {
		for i := range ps {
			rec, won, err := s.Claim(t.Context(), ps[i])
			if err != nil {
				t.Error(err)
			}
			if won {
				settle(rec)
			}
		}
	} else {
		answers, err := s.ClaimBatch(t.Context(), ps)
		if err != nil {
			t.Error(err)
		}
		for _, a := range answers {
			if a.Err != nil {
				t.Error(a.Err)
			}
			if a.Won {
				settle(a.Record)
			}
		}
	}
	errs, err := s.SettleBatch(t.Context(), ss)
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Error(err)
	}
}

// The statements of batches find their rows by the keys.
func TestBatchStatements(t *testing.T) {
	t.Parallel()
	s, db, _ := ticking(t, fast, nil)
	for _, a := range must(s.ClaimBatch(t.Context(), batchOf("k", 64))) {
		if !a.Won {
			t.Fatal("a new intent must be won")
		}
	}
	execute(t, db, "ANALYZE TABLE s1_record")
	for name, want := range map[string]string{"settle_many": "PRIMARY", "release": "PRIMARY", "sweep_delete": "PRIMARY", "find": "digest"} {
		text, err := s.Statement(name, 8)
		if err != nil {
			t.Fatal(err)
		}
		if got := plan(t, db, name, text); !strings.Contains(got, want) || strings.Contains(got, "ALL") {
			t.Errorf("%s: the plan is %s, want it to use %s", name, got, want)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A batch that releases an intent tells its holder so, although another caller
// claims the intent the instant it is free, and although the batch has a step
// that changes nothing (promise 1).
func TestBatchReleasesBeforeTheNextClaim(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	near := open(t, dsn, nil)
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	proxy := testserver.NewProxy(t, cfg.Addr)
	cfg.Addr = proxy.Addr()
	far := open(t, cfg.FormatDSN(), nil)
	proxy.Latency(5 * time.Millisecond) // time enough for the next claim between two round trips of the holder's
	for n := range 10 {
		p := params(fmt.Sprint("k", n))
		held := wins(t, near, p)
		var takers sync.WaitGroup
		var taken atomic.Bool
		for i := range 3 {
			q := by(byte(2+i), p)
			takers.Go(func() {
				for !taken.Load() && t.Context().Err() == nil {
					if _, won, err := near.Claim(t.Context(), q); err != nil || won {
						taken.Store(true)
					}
				}
			})
		}
		errs, err := far.SettleBatch(t.Context(), []semel.SettleParams{
			{Digest: params("none").Digest, Fence: 1, Settlement: semel.Settlement{State: semel.StateReleased}},
			{Digest: held.Digest, Fence: held.Fence, Settlement: semel.Settlement{State: semel.StateReleased}},
		})
		takers.Wait()
		if err != nil || errs[1] != nil {
			t.Fatalf("round %d: the holder's release got error %v, %v", n, err, errs)
		}
	}
}
