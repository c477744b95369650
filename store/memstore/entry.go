package memstore

import (
	"encoding/binary"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

// entry is a record at rest. Times are the store's clock in ms.
type entry struct {
	digest      semel.Digest
	fingerprint semel.Fingerprint
	owner       semel.Owner
	key         string // scope and name in one piece of memory
	note        string
	outcome     []byte // never written to again, so that readers may share it
	fence       semel.Fence
	claimed     int64
	settled     int64 // 0 while claimed
	lease       int64
	expires     int64
	twin        *entry // the index's
	next, prev  *entry // the wheel's
	attempt     int32
	scopeLen    uint16
	slot        uint16 // the wheel's
	state       semel.State
	kept        bool
}

func (e *entry) scope() string { return e.key[:e.scopeLen] }

func (e *entry) name() string { return e.key[e.scopeLen:] }

// bytes returns how much of the entry counts against Options.MaxBytes.
func (e *entry) bytes() int64 { return int64(len(e.key) + len(e.outcome)) }

// view is the entry as the transition table sees it; nil is absent.
func (e *entry) view(now int64) transition.Record {
	if e == nil {
		return transition.Record{}
	}
	return transition.Record{
		State:  transition.State(e.state),
		Lapsed: e.state == semel.StateClaimed && transition.Reached(now, e.lease),
		Fence:  uint64(e.fence),
	}
}

// claim writes a new claim over whatever the entry held.
func (e *entry) claim(p *semel.ClaimParams, f semel.Fence, now int64) {
	e.digest = p.Digest
	e.fingerprint = p.Fingerprint
	e.owner = p.Owner
	if e.scope() != p.Scope || e.name() != p.Name {
		// One copy, so that the caller's memory (a whole header block,
		// perhaps) is not kept alive.
		e.key = p.Scope + p.Name
		if p.Scope == "" || p.Name == "" {
			e.key = strings.Clone(e.key) // the sum did not copy it
		}
		e.scopeLen = uint16(len(p.Scope)) //nolint:gosec // Validate bounds it by semel.MaxScopeBytes.
	}
	e.note, e.outcome, e.kept = "", nil, false
	e.state = semel.StateClaimed
	e.fence = f
	e.attempt++
	e.claimed, e.settled = now, 0
	until := transition.ClaimedAt(now, p.Lease.Milliseconds(), p.Retention.Milliseconds())
	e.lease, e.expires = until.Lapses, until.Expires
}

// record returns what the entry holds, as read at now.
func (e *entry) record(now int64) semel.Record {
	rec := semel.Record{
		Digest:      e.digest,
		Scope:       e.scope(),
		Name:        e.name(),
		Fingerprint: e.fingerprint,
		State:       e.state,
		Fence:       e.fence,
		Owner:       e.owner,
		Attempt:     int(e.attempt),
		Outcome:     e.outcome,
		Kept:        e.kept,
		Note:        e.note,
		ClaimedAt:   verb.Time(e.claimed),
		LeaseUntil:  verb.Time(e.lease),
		ExpiresAt:   verb.Time(e.expires),
		ReadAt:      verb.Time(now),
	}
	if e.state != semel.StateClaimed {
		rec.SettledAt = verb.Time(e.settled)
	}
	return rec
}

// index finds entries by digest. It hashes eight bytes of what is a hash
// already, so that a group of the map fits two cache lines instead of six;
// entries that share those bytes are chained.
type index map[uint64]*entry

func indexKey(d *semel.Digest) uint64 { return binary.LittleEndian.Uint64(d[8:16]) }

func (x index) find(d *semel.Digest) *entry {
	e := x[indexKey(d)]
	for e != nil && e.digest != *d {
		e = e.twin
	}
	return e
}

// add puts in an entry whose digest is not there.
func (x index) add(e *entry) {
	key := indexKey(&e.digest)
	e.twin = x[key]
	x[key] = e
}

// remove takes out an entry that is there.
func (x index) remove(e *entry) {
	key := indexKey(&e.digest)
	head := x[key]
	switch {
	case head != e:
		for head.twin != e {
			head = head.twin
		}
		head.twin = e.twin
	case e.twin != nil:
		x[key] = e.twin
	default:
		delete(x, key)
	}
	e.twin = nil
}
