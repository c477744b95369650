package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

func batchRules() []storeRule {
	return []storeRule{
		{Name: "batch/claims", Promise: 1, Says: "each claim of a batch is answered as if it were alone, and a bad one touches no other", check: batchClaims, needs: needBatcher},
		{Name: "batch/settlements", Promise: 2, Says: "each settlement of a batch is answered as if it were alone, and a bad one touches no other", check: batchSettlements, needs: needBatcher},
		{Name: "batch/both", Promise: 1, Says: "claims and settlements of one batch are answered as if each were alone, and bad ones touch no others", check: batchBoth, needs: needBatcher},
		{Name: "batch/twin", Promise: 1, Says: "a duplicate in the batch of its holder's settlement comes before or after it, as with single verbs", check: batchTwin, needs: needBatcher},
		{Name: "batch/sizes", Says: "a batch of any size is answered in the order asked", check: batchSizes, needs: needBatcher},
		{Name: "batch/race", Promise: 1, Says: "batches and single verbs on the same keys at once, in any order, give each key to one", check: batchRace, needs: needBatcher},
	}
}

// batch claims and settles all, and the batch must be answered.
func (c *check) batch(ps []semel.ClaimParams, ss []semel.SettleParams) ([]semel.ClaimAnswer, []error) {
	c.Helper()
	batcher, _ := c.Store.(semel.Batcher)
	answers, errs, err := batcher.Batch(c.ctx, ps, ss)
	c.wantErr("Batch must not fail", err, nil)
	if len(answers) != len(ps) || len(errs) != len(ss) {
		c.fail("every step must be answered", []int{len(answers), len(errs)}, []int{len(ps), len(ss)})
	}
	return answers, errs
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
	wishes := []claimWish{
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
	for i := range 40 {
		wishes = append(wishes, claimWish{c.params(fmt.Sprint("fresh ", i)), true, semel.StateClaimed, 1})
	}
	return wishes
}

func batchClaims(c *check) { c.batchOf(c.claimWishes(), nil) }

func batchSettlements(c *check) { c.batchOf(nil, c.settleWishes()) }

func batchBoth(c *check) { c.batchOf(c.claimWishes(), c.settleWishes()) }

// batchOf makes one batch, in any order, and checks all answers.
func (c *check) batchOf(claims []claimWish, settles []settleWish) {
	c.Helper()
	rand.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })      //nolint:gosec // an order that no test depends on
	rand.Shuffle(len(settles), func(i, j int) { settles[i], settles[j] = settles[j], settles[i] }) //nolint:gosec // see above
	ps, ss := make([]semel.ClaimParams, len(claims)), make([]semel.SettleParams, len(settles))
	for i := range claims {
		ps[i] = claims[i].p
	}
	for i, w := range settles {
		ss[i] = semel.SettleParams{Digest: w.rec.Digest, Fence: w.rec.Fence, Settlement: w.to}
	}
	answers, errs := c.batch(ps, ss)
	c.claimedAsWished(claims, answers)
	c.settledAsWished(settles, errs)
}

func (c *check) claimedAsWished(wishes []claimWish, answers []semel.ClaimAnswer) {
	c.Helper()
	seen := map[semel.Fence]bool{}
	for i, got := range answers {
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
		{held("left unknown"), unknown("why “not”"), nil, semel.StateUnknown, ""},
		{held("made void"), cancelled("void"), nil, semel.StateCancelled, ""},
		{held("resolved", unknown("note")), completed("b"), nil, semel.StateCompleted, "b"},
		{held("repeated", completed("c")), completed("c"), nil, semel.StateCompleted, "c"},
		{held("otherwise", completed("d")), completed("e"), semel.ErrSettled, semel.StateCompleted, "d"},
		{held("invalid"), semel.Settlement{State: semel.StateCompleted}, errRefused, semel.StateClaimed, ""},
		{held("gone", released()), completed("g"), semel.ErrLost, semel.StateAbsent, ""},
		{absent, completed("g"), semel.ErrLost, semel.StateAbsent, ""},
		{other(one, two.Fence), completed("h"), semel.ErrLost, semel.StateClaimed, ""},
		{other(two, one.Fence), completed("i"), semel.ErrLost, semel.StateClaimed, ""},
		{held("let go"), released(), nil, semel.StateAbsent, ""},
		{held("released before", released()), released(), nil, semel.StateAbsent, ""},
		{held("released unknown", unknown("note")), released(), nil, semel.StateAbsent, ""},
	}
}

func (c *check) settledAsWished(wishes []settleWish, errs []error) {
	c.Helper()
	for i, err := range errs {
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

// batchTwin lets a duplicate claim each of many intents in the batch in which the
// holder settles it: one that comes too soon, and one that takes over.
func batchTwin(c *check) {
	var twins []semel.ClaimParams
	var ss []semel.SettleParams
	add := func(rec semel.Record, to semel.Settlement, takeOver semel.Fence) {
		twins = append(twins, takingOver(takeOver, by("twin", c.params(rec.Name))))
		ss = append(ss, semel.SettleParams{Digest: rec.Digest, Fence: rec.Fence, Settlement: to})
	}
	for name, to := range settlements() {
		rec := c.wins("an absent intent must be won", c.params("lapsed "+name))
		c.lapse(rec.Digest)
		add(rec, to, rec.Fence)
	}
	for name, to := range settlements() {
		add(c.wins("an absent intent must be won", c.params("held "+name)), to, 0)
	}
	answers, errs := c.batch(twins, ss)
	for i, got := range answers {
		name, to, rec := twins[i].Name, ss[i].Settlement, c.lookupIfAny(twins[i].Digest)
		c.wantErr("a claim must not fail: "+name, got.Err, nil)
		switch {
		case got.Won && got.Record.Attempt == 2: // it came first
			want := semel.ErrLost
			if to.State == semel.StateUnknown && errs[i] == nil {
				want = nil // or second, and took over what was left
			}
			c.wantErr("a former holder must not settle: "+name, errs[i], want)
			c.equal("the claim that was won must stay: "+name, rec, got.Record)
		case got.Won:
			c.equal("only what was released may be won as if it were new: "+name, to.State, semel.StateReleased)
			c.wantErr("a held claim must be settled: "+name, errs[i], nil)
			c.equal("the claim that was won must stay: "+name, rec, got.Record)
		default:
			c.wantErr("a held claim must be settled: "+name, errs[i], nil)
			c.equal("the settlement must stay: "+name, rec.State, map[bool]semel.State{false: to.State, true: semel.StateAbsent}[to.State == semel.StateReleased])
			if got.Record.State != semel.StateClaimed && got.Record.State != to.State {
				c.fail("a duplicate must see the claim or how it ended: "+name, got.Record.State, to.State)
			}
		}
	}
}

// lookupIfAny returns the record, or the zero one, which is absent.
func (c *check) lookupIfAny(d semel.Digest) semel.Record {
	c.Helper()
	rec, err := c.Store.Lookup(c.ctx, d)
	if !errors.Is(err, semel.ErrNotFound) {
		c.wantErr("Lookup must not fail", err, nil)
	}
	return rec
}

// batchSizes settles the claims of each batch in the next one.
func batchSizes(c *check) {
	var held []semel.SettleParams
	var answers []semel.ClaimAnswer
	for _, n := range []int{0, 1, 2, 17, 64, 65, 200, 1, 0} {
		ps := make([]semel.ClaimParams, n)
		for i := range ps {
			ps[i] = c.params(fmt.Sprint(i, " of ", n, " after ", len(held)))
		}
		former := held
		var errs []error
		answers, errs = c.batch(ps, former)
		c.wantErr("held claims must be settled", errors.Join(errs...), nil)
		for _, p := range former {
			c.equal("every outcome must be its own", string(c.lookup(p.Digest).Outcome), string(p.Settlement.Outcome))
		}
		held = make([]semel.SettleParams, n)
		for i, got := range answers {
			c.wantErr("a good claim must not fail", got.Err, nil)
			if !got.Won || got.Record.Digest != ps[i].Digest {
				c.fail("an absent intent must be won, in the order asked", describe(got.Record), ps[i].Name)
			}
			held[i] = semel.SettleParams{Digest: got.Record.Digest, Fence: got.Record.Fence, Settlement: completed("answer " + ps[i].Name)}
		}
	}
}

// batchRace claims half of the keys, and the other half in the batch that settles
// what was won of the first.
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
		var held []semel.SettleParams
		for _, part := range [][]semel.ClaimParams{ps[:keys/2], ps[keys/2:], nil} {
			answers, settled := c.together(part, held, i%4 == 3)
			errs[i] = errors.Join(append(settled, errs[i])...)
			held = nil
			for _, got := range answers {
				if errs[i] = errors.Join(errs[i], got.Err); got.Won {
					held = append(held, semel.SettleParams{Digest: got.Record.Digest, Fence: got.Record.Fence, Settlement: completed(fmt.Sprint(i))})
					mu.Lock()
					winners[got.Record.Name] = append(winners[got.Record.Name], fmt.Sprint(i))
					mu.Unlock()
				}
			}
		}
	})
	c.wantErr("no step must fail under contention", errors.Join(errs...), nil)
	for k := range keys {
		rec := c.lookup(c.params(fmt.Sprint(k)).Digest)
		c.equal("exactly one must win, and its outcome be stored", []string{string(rec.Outcome)}, winners[fmt.Sprint(k)])
	}
}

// together claims and settles in a batch, or one by one.
func (c *check) together(ps []semel.ClaimParams, ss []semel.SettleParams, single bool) (answers []semel.ClaimAnswer, errs []error) {
	if !single {
		batcher, _ := c.Store.(semel.Batcher)
		answers, errs, err := batcher.Batch(c.ctx, ps, ss)
		return answers, append(errs, err)
	}
	answers = make([]semel.ClaimAnswer, len(ps))
	for i := range ps {
		answers[i].Record, answers[i].Won, answers[i].Err = c.Store.Claim(c.ctx, ps[i])
	}
	for _, p := range ss {
		errs = append(errs, c.Store.Settle(c.ctx, p.Digest, p.Fence, p.Settlement))
	}
	return answers, errs
}
