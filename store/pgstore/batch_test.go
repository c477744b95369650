package pgstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// modes are the ways in which the driver sends statements.
func modes() []string {
	return []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}
}

// inEachMode runs a test with a store that sends its statements in each way.
func inEachMode(t *testing.T, run func(t *testing.T, s *pgstore.Store)) {
	t.Helper()
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dsn := with(t, testserver.Postgres(t), func(_ *url.URL, q url.Values) { q.Set("default_query_exec_mode", mode) })
			run(t, openAt(t, dsn, &pgstore.Options{Schema: testserver.PostgresSchema(t)}))
		})
	}
}

// wish is one step of a batch, and what must come of it.
type wish struct {
	claim  semel.ClaimParams
	won    bool
	state  semel.State
	err    error
	first  bool // the first attempt
	answer string
}

// Every step of a batch is answered as if it were alone, in the order asked,
// and a bad one touches no other.
func TestClaimBatch(t *testing.T) {
	t.Parallel()
	inEachMode(t, func(t *testing.T, s *pgstore.Store) {
		t.Helper()
		by := func(owner byte, name string) semel.ClaimParams {
			p := params(name)
			p.Owner = semel.Owner{owner}
			return p
		}
		lapsed := by(1, "lapsed")
		lapsed.Lease = time.Millisecond
		expired := lapsed
		expired.Digest, expired.Retention = params("expired").Digest, time.Millisecond
		wins(t, s, expired)
		takeOver := by(2, "lapsed")
		takeOver.TakeOver = wins(t, s, lapsed).Fence
		wins(t, s, by(1, "mine"))
		wins(t, s, by(2, "theirs"))
		settles(t, s, wins(t, s, by(2, "done")), completed("answer"))
		settles(t, s, wins(t, s, by(2, "released")), semel.Settlement{State: semel.StateReleased})
		noLease, noText := by(1, "no lease"), by(1, "no text \xff")
		noLease.Lease = 0
		wishes := []wish{
			{claim: by(1, "fresh"), won: true, state: semel.StateClaimed, first: true},
			{claim: noLease, err: errAny},
			{claim: by(1, "mine"), won: true, state: semel.StateClaimed, first: true},
			{claim: by(1, "theirs"), state: semel.StateClaimed, first: true},
			{claim: noText, err: semel.ErrKeyInvalid},
			{claim: by(1, "done"), state: semel.StateCompleted, first: true, answer: "answer"},
			{claim: by(1, "released"), won: true, state: semel.StateClaimed, first: true},
			{claim: by(1, "expired"), won: true, state: semel.StateClaimed, first: true},
			{claim: takeOver, won: true, state: semel.StateClaimed},
		}
		for i := range 40 {
			wishes = append(wishes, wish{claim: by(1, fmt.Sprint("fresh ", i)), won: true, state: semel.StateClaimed, first: true})
		}
		rand.Shuffle(len(wishes), func(i, j int) { wishes[i], wishes[j] = wishes[j], wishes[i] })
		ps := make([]semel.ClaimParams, len(wishes))
		for i := range wishes {
			ps[i] = wishes[i].claim
		}
		answers, err := s.ClaimBatch(t.Context(), ps)
		if err != nil || len(answers) != len(wishes) {
			t.Fatalf("got %d answers, error %v, want %d", len(answers), err, len(wishes))
		}
		fences := map[semel.Fence]bool{}
		for i, want := range wishes {
			want.check(t, s, answers[i])
			if f := answers[i].Record.Fence; f != 0 && fences[f] {
				t.Errorf("fence %d was given twice", f)
			}
			fences[answers[i].Record.Fence] = true
		}
		if answers, err := s.ClaimBatch(t.Context(), nil); err != nil || len(answers) != 0 {
			t.Errorf("no steps: got %v, error %v", answers, err)
		}
	})
}

var errAny = errors.New("any error")

func (w *wish) check(t *testing.T, s *pgstore.Store, got semel.ClaimAnswer) {
	t.Helper()
	name := w.claim.Name
	if w.err != nil {
		if got.Err == nil || !errors.Is(w.err, errAny) && !errors.Is(got.Err, w.err) {
			t.Errorf("%s: got error %v, want %v", name, got.Err, w.err)
		}
		return
	}
	if got.Err != nil || got.Won != w.won || got.Record.State != w.state || (got.Record.Attempt == 1) != w.first || string(got.Record.Outcome) != w.answer {
		t.Errorf("%s: got %+v, want %+v", name, got, w)
	}
	found, err := s.Lookup(t.Context(), w.claim.Digest)
	found.ReadAt = got.Record.ReadAt
	if diff := cmp.Diff(found, got.Record); diff != "" || err != nil {
		t.Errorf("%s: the answer must be the record, error %v (-record +answer)\n%s", name, err, diff)
	}
}

func TestSettleBatch(t *testing.T) {
	t.Parallel()
	inEachMode(t, func(t *testing.T, s *pgstore.Store) {
		t.Helper()
		unknown := semel.Settlement{State: semel.StateUnknown, Note: "upstream \x00 hung \xff up", Retention: retention}
		released := semel.Settlement{State: semel.StateReleased}
		held := func(name string, before ...semel.Settlement) semel.Record {
			rec := wins(t, s, params(name))
			for _, v := range before {
				settles(t, s, rec, v)
			}
			return rec
		}
		lost := held("lost")
		lost.Fence += 1000
		large := strings.Repeat("x", 5<<20)
		type step struct {
			rec  semel.Record
			to   semel.Settlement
			want error
			left string // the outcome
		}
		steps := []step{
			{held("completed"), completed("a"), nil, "a"},
			{held("empty"), completed(""), nil, ""},
			{held("unknown"), unknown, nil, ""},
			{held("cancelled"), semel.Settlement{State: semel.StateCancelled, Retention: retention}, nil, ""},
			{held("resolved", unknown), completed("b"), nil, "b"},
			{held("repeated", completed("c")), completed("c"), nil, "c"},
			{held("otherwise", completed("d")), completed("e"), semel.ErrSettled, "d"},
			{held("invalid"), semel.Settlement{State: semel.StateCompleted}, errAny, ""},
			{held("large"), completed(large), nil, large},
			{lost, completed("f"), semel.ErrLost, ""},
			{semel.Record{Digest: params("absent").Digest, Fence: 1}, completed("g"), semel.ErrLost, ""},
		}
		one, two := held("one"), held("two")
		one.Fence, two.Fence = two.Fence, one.Fence
		steps = append(steps, step{one, completed("h"), semel.ErrLost, ""}, step{two, completed("i"), semel.ErrLost, ""})
		gone := []semel.Record{held("released"), held("released before", released), held("released unknown", unknown)}
		for _, rec := range gone {
			steps = append(steps, step{rec: rec, to: released})
		}
		rand.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		ss := make([]semel.SettleParams, len(steps))
		for i, st := range steps {
			ss[i] = semel.SettleParams{Digest: st.rec.Digest, Fence: st.rec.Fence, Settlement: st.to}
		}
		errs, err := s.SettleBatch(t.Context(), ss)
		if err != nil || len(errs) != len(steps) {
			t.Fatalf("got %d answers, error %v, want %d", len(errs), err, len(steps))
		}
		for i, st := range steps {
			if !errors.Is(errs[i], st.want) && (errs[i] == nil || !errors.Is(st.want, errAny)) {
				t.Errorf("%s: got %v, want %v", st.rec.Name, errs[i], st.want)
			}
			found, err := s.Lookup(t.Context(), st.rec.Digest)
			if st.to.State == semel.StateReleased || st.rec.Name == "" {
				if !errors.Is(err, semel.ErrNotFound) {
					t.Errorf("%s: got error %v, want %v", st.rec.Name, err, semel.ErrNotFound)
				}
				continue
			}
			if err != nil || string(found.Outcome) != st.left || st.want == nil && found.State != st.to.State {
				t.Errorf("%s: got %v with %d bytes, error %v", st.rec.Name, found.State, len(found.Outcome), err)
			}
		}
		if errs, err := s.SettleBatch(t.Context(), nil); err != nil || len(errs) != 0 {
			t.Errorf("no steps: got %v, error %v", errs, err)
		}
	})
}

// Promises 1 and 2: batches and single steps on the same keys, in any order at
// the same time, give each key to one, and none runs into a deadlock.
func TestBatchesRace(t *testing.T) {
	t.Parallel()
	const racers, keys = 8, 60
	a := open(t, nil)
	b := open(t, &pgstore.Options{Schema: a.SchemaName()})
	var mu sync.Mutex
	winners := map[string]int{}
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			s := []*pgstore.Store{a, b}[i%2]
			ps := make([]semel.ClaimParams, keys)
			for at, k := range rand.Perm(keys) {
				ps[at] = params(fmt.Sprint("k", k))
				ps[at].Owner = semel.Owner{byte(i + 1)}
			}
			for _, part := range [][]semel.ClaimParams{ps[:keys/2], ps[keys/2:]} {
				answers, err := s.ClaimBatch(t.Context(), part)
				if err != nil {
					t.Error(err)
					return
				}
				var ss []semel.SettleParams
				for k, answer := range answers {
					if answer.Err != nil {
						t.Error(answer.Err)
					}
					if answer.Won {
						mu.Lock()
						winners[part[k].Name]++
						mu.Unlock()
						ss = append(ss, semel.SettleParams{Digest: answer.Record.Digest, Fence: answer.Record.Fence, Settlement: completed(fmt.Sprint(i))})
					}
				}
				errs, err := s.SettleBatch(t.Context(), ss)
				if err := errors.Join(append(errs, err)...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for k := range keys {
		if name := fmt.Sprint("k", k); winners[name] != 1 {
			t.Errorf("%s was won %d times, want once", name, winners[name])
		}
	}
}
