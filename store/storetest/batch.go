package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

func batchRules() []Rule {
	return []Rule{
		{Name: "batch/claims", Promise: 1, Says: "each claim of a batch is answered as if it were alone, and a bad one touches no other", check: batchClaims, needs: needBatcher},
		{Name: "batch/settlements", Promise: 2, Says: "each settlement of a batch is answered as if it were alone, and a bad one touches no other", check: batchSettlements, needs: needBatcher},
		{Name: "batch/sizes", Says: "a batch of any size is answered in the order asked", check: batchSizes, needs: needBatcher},
		{Name: "batch/race", Promise: 1, Says: "batches and single verbs on the same keys at once, in any order, give each key to one", check: batchRace, needs: needBatcher},
	}
}

// claimBatch claims all, and the batch must be answered.
func (c *check) claimBatch(ps []semel.ClaimParams) []semel.ClaimAnswer {
	c.Helper()
	batcher, _ := c.Store.(semel.Batcher)
	answers, err := batcher.ClaimBatch(c.ctx, ps)
	c.wantErr("ClaimBatch must not fail", err, nil)
	if len(answers) != len(ps) {
		c.fail("every step must be answered", len(answers), len(ps))
	}
	return answers
}

func (c *check) settleBatch(ss []semel.SettleParams) []error {
	c.Helper()
	batcher, _ := c.Store.(semel.Batcher)
	errs, err := batcher.SettleBatch(c.ctx, ss)
	c.wantErr("SettleBatch must not fail", err, nil)
	if len(errs) != len(ss) {
		c.fail("every step must be answered", len(errs), len(ss))
	}
	return errs
}

// claimWish is one claim of a batch, and what must come of it. Attempt 0 is a
// claim that must be refused.
type claimWish struct {
	p       semel.ClaimParams
	won     bool
	state   semel.State
	attempt int
}

// claimWishes are one of each, of which some find a record.
func (c *check) claimWishes() []claimWish {
	c.Helper()
	brief := func(name string) semel.ClaimParams {
		p := c.params(name)
		p.Lease = time.Minute
		return p
	}
	lapsed, stale, expired := brief("lapsed"), brief("stale"), brief("expired")
	expired.Retention = time.Minute
	former := c.wins("an absent intent must be won", lapsed)
	c.claimNames("mine", "theirs", "released")
	c.wins("an absent intent must be won", stale)
	c.wins("an absent intent must be won", expired)
	c.settle("a held claim must be released", c.lookup(c.params("released").Digest), released(), nil)
	c.Advance(3 * time.Minute)
	for name, to := range map[string]semel.Settlement{"done": completed("answer"), "unknown": unknown("note"), "taken": unknown("note"), "cancelled": cancelled("note")} {
		c.settle("a held claim must be settled", c.wins("an absent intent must be won", c.params(name)), to, nil)
	}
	bad := c.params("no lease")
	bad.Lease = 0
	return []claimWish{
		{p: bad},
		{c.params("mine"), true, semel.StateClaimed, 1},
		{by("second", c.params("theirs")), false, semel.StateClaimed, 1},
		{c.params("done"), false, semel.StateCompleted, 1},
		{c.params("unknown"), false, semel.StateUnknown, 1},
		{c.params("cancelled"), false, semel.StateCancelled, 1},
		{c.params("released"), true, semel.StateClaimed, 1},
		{expired, true, semel.StateClaimed, 1},
		{takingOver(former.Fence, by("second", lapsed)), true, semel.StateClaimed, 2},
		{takingOver(former.Fence, by("second", stale)), false, semel.StateClaimed, 1},
		{takingOver(c.lookup(c.params("taken").Digest).Fence, by("second", c.params("taken"))), true, semel.StateClaimed, 2},
	}
}

func batchClaims(c *check) {
	wishes := c.claimWishes()
	for i := range 40 {
		wishes = append(wishes, claimWish{c.params(fmt.Sprint("fresh ", i)), true, semel.StateClaimed, 1})
	}
	rand.Shuffle(len(wishes), func(i, j int) { wishes[i], wishes[j] = wishes[j], wishes[i] }) //nolint:gosec // an order that no test depends on
	ps := make([]semel.ClaimParams, len(wishes))
	for i := range wishes {
		ps[i] = wishes[i].p
	}
	seen := map[semel.Fence]bool{}
	for i, got := range c.claimBatch(ps) {
		want := wishes[i]
		if want.attempt == 0 {
			if got.Err == nil || got.Won {
				c.fail("invalid parameters must be refused in a batch", got.Err, "an error")
			}
			continue
		}
		c.wantErr("a good claim must not fail: "+want.p.Name, got.Err, nil)
		c.equal("a claim must be answered as if it were alone: "+want.p.Name,
			[]any{got.Won, got.Record.State, got.Record.Attempt}, []any{want.won, want.state, want.attempt})
		c.equal("the answer must be the record as it is stored", got.Record, c.lookup(want.p.Digest))
		if seen[got.Record.Fence] {
			c.fail("a fence must not be given twice", got.Record.Fence, "every fence once")
		}
		seen[got.Record.Fence] = true
	}
}

// settleWish is one settlement of a batch, and what must come of it.
type settleWish struct {
	rec  semel.Record
	to   semel.Settlement
	want error // errRefused is any error
	left semel.State
	said string // the outcome that is left
}

var errRefused = errors.New("refused")

func (c *check) settleWishes() []settleWish {
	c.Helper()
	held := func(name string, before ...semel.Settlement) semel.Record {
		rec := c.wins("an absent intent must be won", c.params(name))
		for _, to := range before {
			c.settle("a held claim must be settled", rec, to, nil)
		}
		return rec
	}
	other := func(rec semel.Record, f semel.Fence) semel.Record {
		rec.Fence = f
		return rec
	}
	one, two := held("one"), held("two")
	binary := string([]byte{0xFF, 0, '\'', '\\', 0xBF, '"', '?', 0xE9})
	large := string(bytes.Repeat([]byte{0xE9}, 1<<20))
	absent := semel.Record{Digest: c.params("absent").Digest, Fence: 1}
	return []settleWish{
		{held("completed"), completed("a"), nil, semel.StateCompleted, "a"},
		{held("empty"), completed(""), nil, semel.StateCompleted, ""},
		{held("binary"), completed(binary), nil, semel.StateCompleted, binary},
		{held("large"), completed(large), nil, semel.StateCompleted, large},
		{held("unknown"), unknown("why “not”"), nil, semel.StateUnknown, ""},
		{held("cancelled"), cancelled("void"), nil, semel.StateCancelled, ""},
		{held("resolved", unknown("note")), completed("b"), nil, semel.StateCompleted, "b"},
		{held("repeated", completed("c")), completed("c"), nil, semel.StateCompleted, "c"},
		{held("otherwise", completed("d")), completed("e"), semel.ErrSettled, semel.StateCompleted, "d"},
		{held("invalid"), semel.Settlement{State: semel.StateCompleted}, errRefused, semel.StateClaimed, ""},
		{held("gone", released()), completed("g"), semel.ErrLost, semel.StateAbsent, ""},
		{absent, completed("g"), semel.ErrLost, semel.StateAbsent, ""},
		{other(one, two.Fence), completed("h"), semel.ErrLost, semel.StateClaimed, ""},
		{other(two, one.Fence), completed("i"), semel.ErrLost, semel.StateClaimed, ""},
		{held("released"), released(), nil, semel.StateAbsent, ""},
		{held("released before", released()), released(), nil, semel.StateAbsent, ""},
		{held("released unknown", unknown("note")), released(), nil, semel.StateAbsent, ""},
	}
}

func batchSettlements(c *check) {
	wishes := c.settleWishes()
	rand.Shuffle(len(wishes), func(i, j int) { wishes[i], wishes[j] = wishes[j], wishes[i] }) //nolint:gosec // an order that no test depends on
	ss := make([]semel.SettleParams, len(wishes))
	for i, w := range wishes {
		ss[i] = semel.SettleParams{Digest: w.rec.Digest, Fence: w.rec.Fence, Settlement: w.to}
	}
	for i, err := range c.settleBatch(ss) {
		w := wishes[i]
		if !errors.Is(err, w.want) && (err == nil || !errors.Is(w.want, errRefused)) {
			c.fail("a settlement must be answered as if it were alone: "+w.rec.Name, err, w.want)
		}
		if w.left == semel.StateAbsent {
			c.absent("what was released must be absent", w.rec.Digest)
			continue
		}
		found := c.lookup(w.rec.Digest)
		c.equal("a settlement must leave what it would alone: "+w.rec.Name, []any{found.State, string(found.Outcome)}, []any{w.left, w.said})
		if w.want == nil && w.left != semel.StateCompleted {
			c.equal("the note must come back as it was", found.Note, w.to.Note)
		}
	}
}

func batchSizes(c *check) {
	for _, n := range []int{0, 1, 2, 17, 64, 65, 200} {
		ps := make([]semel.ClaimParams, n)
		for i := range ps {
			ps[i] = c.params(fmt.Sprint(i, " of ", n))
		}
		ss := make([]semel.SettleParams, n)
		for i, got := range c.claimBatch(ps) {
			c.wantErr("a good claim must not fail", got.Err, nil)
			if !got.Won || got.Record.Digest != ps[i].Digest {
				c.fail("an absent intent must be won, in the order asked", describe(got.Record), ps[i].Name)
			}
			ss[i] = semel.SettleParams{Digest: got.Record.Digest, Fence: got.Record.Fence, Settlement: completed("answer " + ps[i].Name)}
		}
		c.wantErr("held claims must be settled", errors.Join(c.settleBatch(ss)...), nil)
		for i := range ps {
			c.equal("every outcome must be its own", string(c.lookup(ps[i].Digest).Outcome), "answer "+ps[i].Name)
		}
	}
}

func batchRace(c *check) {
	const claimers, keys = 8, 40
	var mu sync.Mutex // guards winners
	winners := map[string][]string{}
	errs := make([]error, claimers)
	race(claimers, func(i int) {
		ps := make([]semel.ClaimParams, keys)
		for at, k := range rand.Perm(keys) { //nolint:gosec // an order that no test depends on
			ps[at] = by(fmt.Sprint("claimer ", i), c.params(fmt.Sprint(k)))
		}
		for part := range slices.Chunk(ps, keys/2) {
			won, err := c.claimSome(part, i%4 == 3)
			mu.Lock()
			for n := range won {
				winners[part[n].Name] = append(winners[part[n].Name], fmt.Sprint(i))
			}
			mu.Unlock()
			ss := make([]semel.SettleParams, 0, len(won))
			for _, rec := range won {
				ss = append(ss, semel.SettleParams{Digest: rec.Digest, Fence: rec.Fence, Settlement: completed(fmt.Sprint(i))})
			}
			batcher, _ := c.Store.(semel.Batcher)
			settled, settleErr := batcher.SettleBatch(c.ctx, ss)
			errs[i] = errors.Join(errs[i], err, settleErr, errors.Join(settled...))
		}
	})
	c.wantErr("no step must fail under contention", errors.Join(errs...), nil)
	for k := range keys {
		rec := c.lookup(c.params(fmt.Sprint(k)).Digest)
		c.equal("exactly one must win, and its outcome be stored", []string{string(rec.Outcome)}, winners[fmt.Sprint(k)])
	}
}

// claimSome claims in a batch, or one by one, and returns what it won, by its place.
func (c *check) claimSome(ps []semel.ClaimParams, single bool) (won map[int]semel.Record, err error) {
	batcher, _ := c.Store.(semel.Batcher)
	answers := make([]semel.ClaimAnswer, len(ps))
	if single {
		for i := range ps {
			answers[i].Record, answers[i].Won, answers[i].Err = c.Store.Claim(c.ctx, ps[i])
		}
	} else if answers, err = batcher.ClaimBatch(c.ctx, ps); err != nil {
		return nil, err
	}
	won = map[int]semel.Record{}
	for i, got := range answers {
		if err = errors.Join(err, got.Err); got.Won {
			won[i] = got.Record
		}
	}
	return won, err
}
