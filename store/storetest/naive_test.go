package storetest_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/listing"
	"github.com/semel-dev/semel/store/storetest"
)

// disk holds the data that survives a naive store.
type disk struct {
	mu   sync.Mutex // guards the fields below
	now  time.Time
	recs map[semel.Digest]*semel.Record
	keep map[semel.Digest]time.Duration // each claim's retention
	last semel.Fence
}

func newDisk() *disk {
	return &disk{
		now:  time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		recs: map[semel.Digest]*semel.Record{}, keep: map[semel.Digest]time.Duration{},
	}
}

func (d *disk) advance(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

// naive is a second store, written from the contract alone: a map under one
// lock. With the name of a bug it breaks one rule in the way that real stores
// have been seen to.
type naive struct {
	*disk

	bug    string
	closed bool
	free   semel.Fence   // bug "fence reused"
	second chan struct{} // bug "two winners"
}

func naiveWith(bug string) storetest.Harness {
	return func(testing.TB) *storetest.Instance {
		d := newDisk()
		open := func() *naive { return &naive{disk: d, bug: bug, second: make(chan struct{})} }
		return &storetest.Instance{
			Store:   open(),
			Advance: d.advance,
			Reopen: func(testing.TB) semel.Store {
				if bug == "fence forgotten" {
					d.last = 0
					for _, rec := range d.recs {
						d.last = max(d.last, rec.Fence)
					}
				}
				return open()
			},
		}
	}
}

func (n *naive) is(bug string) bool { return n.bug == bug }

func (n *naive) enter(ctx context.Context) error {
	n.mu.Lock()
	if n.closed && !n.is("close forgotten") {
		return semel.ErrClosed
	}
	if n.is("context ignored") {
		return nil
	}
	return ctx.Err()
}

func (n *naive) find(d semel.Digest) *semel.Record {
	if n.is("half a digest") {
		d = semel.Digest(append(d[:16:16], make([]byte, 16)...))
	}
	rec := n.recs[d]
	if rec == nil || (!n.now.Before(rec.ExpiresAt) && !n.is("expired visible")) {
		return nil
	}
	rec.ReadAt = n.now
	return rec
}

func (n *naive) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	err := n.enter(ctx)
	defer n.mu.Unlock()
	if err != nil {
		return semel.Record{}, false, err
	}
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	old := n.find(p.Digest)
	if old == nil {
		n.meetSecond()
		return n.give(p, 1), true, nil
	}
	live := old.State == semel.StateClaimed && !old.Lapsed()
	open := old.Lapsed() || old.State == semel.StateUnknown || (live && n.is("takeover of live"))
	asked := p.TakeOver != 0 && (p.TakeOver == old.Fence || n.is("takeover by any fence"))
	switch {
	case open && asked,
		old.Lapsed() && n.is("lapsed to any caller"),
		old.State == semel.StateUnknown && n.is("unknown is run again"):
		note := old.Note
		rec := n.give(p, old.Attempt+1)
		if n.is("note survives") {
			n.find(p.Digest).Note, rec.Note = note, note
		}
		return rec, true, nil
	}
	mine := live && old.Owner == p.Owner && p.Owner != semel.Owner{} && !n.is("owner not recognised")
	if mine && n.is("repetition extends") {
		old.LeaseUntil = n.now.Add(p.Lease)
	}
	rec := *old
	if n.is("answer not shown") {
		rec.Outcome = nil
	}
	return rec, mine, nil
}

// meetSecond is the gap between looking and writing: it lets a second claimer
// in, when there is one.
func (n *naive) meetSecond() {
	if !n.is("two winners") {
		return
	}
	n.mu.Unlock()
	defer n.mu.Lock()
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case n.second <- struct{}{}:
	case <-n.second:
	case <-patience.C:
	}
}

func (n *naive) give(p semel.ClaimParams, attempt int) semel.Record {
	n.last++
	fence := n.last
	switch {
	case n.is("fence of each key"):
		fence = semel.Fence(attempt)
	case n.is("fence reused") && n.free != 0:
		fence, n.free = n.free, 0
	}
	rec := &semel.Record{
		Digest: p.Digest, Scope: p.Scope, Name: p.Name, Fingerprint: p.Fingerprint, State: semel.StateClaimed,
		Fence: fence, Owner: p.Owner, Attempt: attempt, ClaimedAt: n.now, LeaseUntil: n.now.Add(p.Lease),
		ExpiresAt: n.now.Add(p.Lease).Add(p.Retention), ReadAt: n.now,
	}
	if n.is("local time") {
		rec.ClaimedAt = rec.ClaimedAt.In(time.FixedZone("CET", 3600))
	}
	d := p.Digest
	if n.is("half a digest") {
		clear(d[16:])
	}
	n.recs[d], n.keep[d] = rec, p.Retention
	return *rec
}

func (n *naive) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	err := n.enter(ctx)
	defer n.mu.Unlock()
	if err != nil {
		return err
	}
	if lease < time.Millisecond {
		return fmt.Errorf("naive: lease %v is too short", lease)
	}
	rec := n.find(d)
	if rec == nil || rec.State != semel.StateClaimed || (rec.Fence != f && !n.is("renew by any fence")) {
		return semel.ErrLost
	}
	if rec.Lapsed() && n.is("lapsed not renewed") {
		return semel.ErrLost
	}
	rec.LeaseUntil = n.now.Add(lease)
	if !n.is("renew keeps expiry") {
		rec.ExpiresAt = rec.LeaseUntil.Add(n.keep[d])
	}
	return nil
}

func (n *naive) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	err := n.enter(ctx)
	defer n.mu.Unlock()
	if err != nil {
		return err
	}
	if err := to.Validate(); err != nil {
		return err
	}
	to.Kept = to.Kept && to.State == semel.StateCompleted
	rec := n.find(d)
	same := rec != nil && rec.State == to.State && rec.Kept == to.Kept && bytes.Equal(rec.Outcome, to.Outcome)
	switch {
	case rec == nil && to.State == semel.StateReleased && !n.is("release of absent errs"):
		return nil
	case rec == nil || (rec.Fence != f && !n.is("settle by any fence")):
		return semel.ErrLost
	case same && !n.is("settle again extends"):
		return nil
	case !same && (rec.State == semel.StateCompleted || rec.State == semel.StateCancelled) && !n.is("settle overwrites"):
		return semel.ErrSettled
	case rec.State == semel.StateUnknown && n.is("unknown for ever"):
		return semel.ErrSettled
	case to.State == semel.StateReleased:
		n.free = rec.Fence
		delete(n.recs, d)
		return nil
	}
	if !n.is("outcome aliased") {
		to.Outcome = slices.Clone(to.Outcome)
	}
	rec.State, rec.Outcome, rec.Kept, rec.Note = to.State, to.Outcome, to.Kept, to.Note
	rec.SettledAt, rec.ExpiresAt = n.now, n.now.Add(to.Retention)
	if n.is("not kept is kept") {
		rec.Kept = true
	}
	return nil
}

func (n *naive) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	err := n.enter(ctx)
	defer n.mu.Unlock()
	if err != nil {
		return semel.Record{}, err
	}
	rec := n.find(d)
	if rec == nil {
		return semel.Record{}, semel.ErrNotFound
	}
	return *rec, nil
}

func (n *naive) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	return nil
}

func (n *naive) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	err := n.enter(ctx)
	defer n.mu.Unlock()
	if err != nil {
		return semel.ListPage{}, err
	}
	if err := p.Validate(); err != nil {
		return semel.ListPage{}, err
	}
	before, err := listing.Before(p.After)
	if err != nil {
		return semel.ListPage{}, err
	}
	var looked []semel.Record
	for d := range n.recs {
		if rec := n.find(d); rec != nil && rec.Fence < before {
			looked = append(looked, *rec)
		}
	}
	slices.SortFunc(looked, func(a, b semel.Record) int {
		if n.is("list oldest first") {
			a, b = b, a
		}
		return int(b.Fence) - int(a.Fence)
	})
	var page semel.ListPage
	for i := range looked {
		rec := &looked[i]
		if len(page.Records) == p.Limit || (i == p.Examine && !n.is("list without bound")) {
			page.Next = listing.Cursor(looked[i-1].Fence)
			break
		}
		page.Examined++
		if (p.Scope != "" && p.Scope != rec.Scope && !n.is("list of all scopes")) || (p.Name != "" && p.Name != rec.Name) ||
			(len(p.States) != 0 && !slices.Contains(p.States, rec.State)) {
			continue
		}
		if !p.Outcomes {
			rec.Outcome = nil
		}
		page.Records = append(page.Records, *rec)
	}
	return page, nil
}

func (n *naive) Sweep(ctx context.Context, limit int) (int, error) {
	err := n.enter(ctx)
	defer n.mu.Unlock()
	if err != nil {
		return 0, err
	}
	removed := 0
	for d, rec := range n.recs {
		gone := !n.now.Before(rec.ExpiresAt) || (rec.State == semel.StateClaimed && n.is("sweep of live"))
		if gone && (removed < limit || n.is("sweep without limit")) {
			delete(n.recs, d)
			removed++
		}
	}
	return removed, nil
}

func (n *naive) Count(ctx context.Context) (int64, error) {
	err := n.enter(ctx)
	defer n.mu.Unlock()
	return int64(len(n.recs)), err
}
