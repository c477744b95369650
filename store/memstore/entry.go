package memstore

import (
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/machine"
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

// bytes is what the entry counts for against Options.MaxBytes.
func (e *entry) bytes() int64 { return int64(len(e.key) + len(e.outcome)) }

// stands is the entry as the transition table sees it; nil is absent.
func (e *entry) stands(now int64) machine.Record {
	if e == nil {
		return machine.Record{}
	}
	return machine.Record{
		State:  machine.State(e.state),
		Lapsed: e.state == semel.StateClaimed && machine.Reached(now, e.lease),
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
			e.key = strings.Clone(e.key) // the sum was no copy
		}
		e.scopeLen = uint16(len(p.Scope)) //nolint:gosec // Validate bounds it by semel.MaxScopeBytes.
	}
	e.note, e.outcome, e.kept = "", nil, false
	e.state = semel.StateClaimed
	e.fence = f
	e.attempt++
	e.claimed, e.settled = now, 0
	until := machine.ClaimedAt(now, p.Lease.Milliseconds(), p.Retention.Milliseconds())
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
		ClaimedAt:   instant(e.claimed),
		LeaseUntil:  instant(e.lease),
		ExpiresAt:   instant(e.expires),
		ReadAt:      instant(now),
	}
	if e.state != semel.StateClaimed {
		rec.SettledAt = instant(e.settled)
	}
	return rec
}

func instant(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
