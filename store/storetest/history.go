package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/semel-dev/semel"
)

const (
	historyClients = 8
	historyKeys    = 4
	historyPhases  = 6
	historyVerbs   = 12 // by each client in each phase
	// historyPatience bounds the search, not the store: most take milliseconds.
	historyPatience = time.Minute
)

func historyRules() []storeRule {
	return []storeRule{{
		Name: "history/linearizable", Promise: 1, check: historyLinearizable,
		Says: "concurrent verbs on one intent can be put in one order that the contract explains",
	}}
}

// call is the input of one operation of a history.
type call struct {
	verb   string // claim, renew, settle, lookup; or time passing: lapse, expire
	digest semel.Digest
	owner  semel.Owner
	fence  semel.Fence // TakeOver, for a claim
	to     semel.State
	answer string
}

// reply is its output.
type reply struct {
	won bool
	err error // nil or a sentinel
	rec snapshot
}

// snapshot holds the relevant fields of a record that was read.
type snapshot struct {
	state   semel.State
	fence   semel.Fence
	owner   semel.Owner
	attempt int
	answer  string
	lapsed  bool
}

func snap(r semel.Record) snapshot {
	return snapshot{r.State, r.Fence, r.Owner, r.Attempt, string(r.Outcome), r.Lapsed()}
}

// recorder collects operations. Its clock counts calls and returns: that
// orders them as well as time would.
type recorder struct {
	ticks atomic.Int64

	mu  sync.Mutex // guards the fields below
	ops []porcupine.Operation
}

func (r *recorder) record(client int, in call, do func() reply) reply {
	started := r.ticks.Add(1)
	out := do()
	ended := r.ticks.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, porcupine.Operation{ClientId: client, Input: in, Call: started, Output: out, Return: ended})
	return out
}

func historyLinearizable(c *check) {
	seed := rand.Uint64() //nolint:gosec // the seed is printed, so that a failure can be repeated.
	c.Logf("seed %d", seed)
	rec := &recorder{}
	keys := make([]semel.ClaimParams, historyKeys)
	for i := range keys {
		keys[i] = c.params(fmt.Sprint("history ", i))
	}
	strange := make([]error, historyClients)
	for phase := range historyPhases {
		race(historyClients, func(i int) {
			h := &historian{
				c: c, rec: rec, client: i, keys: keys, seen: map[semel.Digest]semel.Fence{},
				random: rand.New(rand.NewPCG(seed, uint64(phase*historyClients+i))), //nolint:gosec // repeatable, not secret.
			}
			strange[i] = h.work()
		})
		c.wantErr("a verb must answer with one of the contract's errors", errors.Join(strange...), nil)
		c.passTime(rec, keys, phase)
	}
	c.judge(rec.ops)
}

// passTime moves the clock while no client calls, and records it for every key.
func (c *check) passTime(rec *recorder, keys []semel.ClaimParams, phase int) {
	verb, by := "lapse", lease
	if phase%3 == 2 {
		verb, by = "expire", lease+retention
	}
	c.Advance(by)
	for i := range keys {
		rec.record(historyClients, call{verb: verb, digest: keys[i].Digest}, func() reply { return reply{} })
	}
}

// historian is one client of one phase.
type historian struct {
	c      *check
	rec    *recorder
	client int
	keys   []semel.ClaimParams
	random *rand.Rand
	seen   map[semel.Digest]semel.Fence // the last fence seen of each intent
}

// work does random verbs and returns an error that the contract does not name.
func (h *historian) work() error {
	for range historyVerbs {
		p := h.keys[h.random.IntN(len(h.keys))]
		in := call{digest: p.Digest, owner: owner(fmt.Sprint("client ", h.client)), fence: h.seen[p.Digest]}
		var out reply
		switch h.random.IntN(10) {
		case 0, 1, 2:
			in.verb, in.fence = "claim", 0
			out = h.claim(in, p)
		case 3, 4:
			in.verb = "claim"
			out = h.claim(in, p)
		case 5:
			in.verb = "renew"
			out = h.rec.record(h.client, in, func() reply {
				return reply{err: h.c.Store.Renew(h.c.ctx, in.digest, in.fence, lease)}
			})
		case 6, 7, 8:
			in.verb = "settle"
			out = h.settle(in)
		default:
			in.verb = "lookup"
			out = h.rec.record(h.client, in, func() reply {
				rec, err := h.c.Store.Lookup(h.c.ctx, in.digest)
				return reply{err: err, rec: snap(rec)}
			})
		}
		if out.rec.fence != 0 {
			h.seen[p.Digest] = out.rec.fence
		}
		if out.err != nil && !errors.Is(out.err, semel.ErrLost) && !errors.Is(out.err, semel.ErrSettled) && !errors.Is(out.err, semel.ErrNotFound) {
			return fmt.Errorf("%s: %w", in.verb, out.err)
		}
	}
	return nil
}

func (h *historian) claim(in call, p semel.ClaimParams) reply {
	p.Owner, p.TakeOver = in.owner, in.fence
	return h.rec.record(h.client, in, func() reply {
		rec, won, err := h.c.Store.Claim(h.c.ctx, p)
		return reply{won: won, err: err, rec: snap(rec)}
	})
}

func (h *historian) settle(in call) reply {
	states := []semel.State{semel.StateCompleted, semel.StateReleased, semel.StateUnknown, semel.StateUnknown, semel.StateCancelled}
	in.to = states[h.random.IntN(len(states))]
	to := settleOf(in.to)
	if in.to == semel.StateCompleted {
		in.answer = fmt.Sprint("answer ", h.random.IntN(2))
		to = completed(in.answer)
	}
	return h.rec.record(h.client, in, func() reply {
		return reply{err: h.c.Store.Settle(h.c.ctx, in.digest, in.fence, to)}
	})
}

// judge looks for an order that explains the history.
func (c *check) judge(ops []porcupine.Operation) {
	c.Helper()
	m := historyModel()
	result, info := porcupine.CheckOperationsVerbose(m, ops, historyPatience)
	switch result {
	case porcupine.Ok:
		return
	case porcupine.Unknown:
		c.Fatalf("%s: no order found in %v, nor its absence", c.rule.Name, historyPatience)
	case porcupine.Illegal:
	}
	path := filepath.Join(c.ArtifactDir(), "history.html")
	if err := porcupine.VisualizePath(m, info, path); err != nil {
		path = err.Error()
	}
	c.Fatalf("%s: %d verbs; picture: %s (run with -artifacts to keep it)",
		c.broken("there must be an order of the verbs that the contract explains"), len(ops), path)
}
