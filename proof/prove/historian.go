package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// An intent begins every keyEvery and is asked about for keyLife: that
	// bounds its history.
	keyEvery = 350 * time.Millisecond
	keyLife  = 4 * keyEvery
	// verbLimit bounds a step; after it the process does not know the outcome.
	verbLimit = 2 * time.Second
	thinking  = 6 * time.Millisecond // the mean, between two steps
	remember  = 4                    // fences of an intent
)

// terms hold the lifetimes of claims and records, in milliseconds.
type terms struct {
	Leases     []int64
	Retentions []int64
}

// historian takes random verbs on a few intents and records the answers. It is
// one goroutine.
type historian struct {
	store  semel.Store
	events *storeTaker
	random *rand.Rand
	client int
	run    string // the scope of every intent
	began  int64
	terms  terms

	known map[int]*acquaintance // by intent
}

// acquaintance holds the knowledge of one historian about an intent.
type acquaintance struct {
	fences []semel.Fence // shown, the latest last
	own    semel.Fence   // of the last claim it won
	owner  semel.Owner   // of its last claim
}

// work goes on until ctx ends. The error is that of the file.
func (h *historian) work(ctx context.Context) error {
	for waiting.Sleep(ctx, around(h.random, thinking)) {
		in := h.choose(h.pick())
		out, err := h.events.record(h.client, in, func() reply { return h.ask(ctx, in) })
		if err != nil {
			return err
		}
		h.learn(in, &out)
		if !out.definite() {
			h.wait(ctx)
		}
	}
	return nil
}

// pick returns a current intent, or now and then an older one.
func (h *historian) pick() int {
	newest := int(time.Duration(monotonic()-h.began) / keyEvery)
	age := h.random.IntN(int(keyLife / keyEvery))
	if h.random.IntN(50) == 0 {
		age *= 2
	}
	return max(0, newest-age)
}

// choose makes up the next step.
func (h *historian) choose(key int) call {
	a := h.known[key]
	if a == nil {
		a = &acquaintance{}
		h.known[key] = a
	}
	in := call{Key: key, Lease: oneOf(h.random, h.terms.Leases), Retention: oneOf(h.random, h.terms.Retentions)}
	switch n := h.random.IntN(100); {
	case n < 45:
		in.Verb = claim
		if n >= 20 {
			in.Fence = h.fence(a)
		}
		if h.random.IntN(4) > 0 || a.owner == (semel.Owner{}) {
			a.owner = h.newOwner()
		}
		in.Owner = hex.EncodeToString(a.owner[:])
	case n < 58:
		in.Verb, in.Fence, in.Retention = renew, h.fence(a), 0
	case n < 86:
		in.Verb, in.Fence, in.Lease = settle, h.fence(a), 0
		h.chooseEnd(&in)
	default:
		in = call{Verb: lookup, Key: key}
	}
	return in
}

// chooseEnd picks the end of a claim. A completed intent never changes again, so
// most are not completed.
func (h *historian) chooseEnd(in *call) {
	switch n := h.random.IntN(20); {
	case n < 9:
		in.To = semel.StateReleased
	case n < 15:
		in.To = semel.StateUnknown
	case n < 19:
		in.To, in.Outcome, in.Kept = semel.StateCompleted, "answer "+strconv.Itoa(h.random.IntN(3)), h.random.IntN(3) > 0
	default:
		in.To = semel.StateCancelled
	}
}

// fence returns mostly the last one, at times its own, and at times an old one.
func (h *historian) fence(a *acquaintance) semel.Fence {
	switch n := h.random.IntN(10); {
	case len(a.fences) == 0:
		return 1
	case n < 6:
		return a.fences[len(a.fences)-1]
	case n < 9 && a.own != 0:
		return a.own
	}
	return oneOf(h.random, a.fences)
}

func (h *historian) newOwner() (o semel.Owner) {
	binary.NativeEndian.PutUint64(o[:8], h.random.Uint64())
	binary.NativeEndian.PutUint64(o[8:], h.random.Uint64())
	return o
}

// digest returns the name of an intent in the store.
func (h *historian) digest(key int) semel.Digest {
	return semel.Key{Scope: h.run, Name: strconv.Itoa(key)}.Digest()
}

// ask takes the step.
func (h *historian) ask(ctx context.Context, in call) reply {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verbLimit)
	defer cancel()
	d := h.digest(in.Key)
	switch in.Verb {
	case claim:
		p := semel.ClaimParams{
			Digest: d, Scope: h.run, Name: strconv.Itoa(in.Key), TakeOver: in.Fence,
			Owner: h.known[in.Key].owner, Lease: millis(in.Lease), Retention: millis(in.Retention),
		}
		rec, won, err := h.store.Claim(ctx, p)
		return replyOf(&rec, won, err)
	case renew:
		return reply{Err: wordOf(h.store.Renew(ctx, d, in.Fence, millis(in.Lease)))}
	case settle:
		s := semel.Settlement{State: in.To, Kept: in.Kept, Retention: millis(in.Retention)}
		if in.Outcome != "" {
			s.Outcome = []byte(in.Outcome)
		}
		return reply{Err: wordOf(h.store.Settle(ctx, d, in.Fence, s))}
	case lookup:
	}
	rec, err := h.store.Lookup(ctx, d)
	return replyOf(&rec, false, err)
}

func replyOf(rec *semel.Record, won bool, err error) reply {
	if err != nil {
		return reply{Err: wordOf(err)}
	}
	return reply{Won: won, Seen: seenOf(rec)}
}

// learn keeps fences for the next steps.
func (h *historian) learn(in call, out *reply) {
	a := h.known[in.Key]
	if out.Seen == nil {
		return
	}
	if out.Won {
		a.own = out.Seen.Fence
	}
	if n := len(a.fences); n == 0 || a.fences[n-1] != out.Seen.Fence {
		a.fences = append(a.fences, out.Seen.Fence)
		a.fences = a.fences[max(0, len(a.fences)-remember):]
	}
}

// wait waits until the store answers again: each step without an answer could
// be taken at any time, so few of them are worth more than many.
func (h *historian) wait(ctx context.Context) {
	for {
		ask, cancel := context.WithTimeout(ctx, verbLimit)
		_, err := h.store.Lookup(ask, semel.Digest{})
		cancel()
		if (&reply{Err: wordOf(err)}).definite() || !waiting.Sleep(ctx, 20*time.Millisecond) {
			return
		}
	}
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func oneOf[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }
