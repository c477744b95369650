package logstore

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

// An entry records one verb. Numbers are little-endian, entries begin at multiples of eight bytes.
//
//	0  size   uint32  of the whole entry, without the zeros that pad it
//	4  crc    uint32  CRC-32C, seeded with the segment's salt, of all that follows
//	8  number uint64  one more than that of the entry before it
//	16 clock  int64   the store's clock in ms; of a gap how many bytes follow that are not entries
//	24 back   uint32  how many entries of the same sync are before it; of a gap how many are missing behind this one
//	28 kind   byte
//	29 state  byte    of a record
//	30 kept   byte    of a record
//	31 0
//	32 …      the body, by its kind
const (
	entryHeader  = 32
	recordBody   = 128 // of an entry of kind kindRecord, before its texts
	renewBody    = 56
	releaseBody  = 40
	entryAlign   = 8
	maxEntryText = semel.MaxScopeBytes + semel.MaxKeyBytes + semel.MaxNoteBytes
	maxEntry     = entryHeader + recordBody + maxEntryText + maxOutcomeBytes
)

// kind says what an entry means. The numbers are on disks: never change one.
type kind uint8

const (
	kindRecord  kind = 1 // a whole record: claimed, settled, or copied forward
	kindRenew   kind = 2 // new deadlines of a claim
	kindRelease kind = 3 // the claim is forgotten
	kindGap     kind = 4 // semel records repair cut entries out here
	kindMark    kind = 5 // no change: when it is durable, all before it is
)

// record is a record at rest. Times are the store's clock in ms.
type record struct {
	digest      semel.Digest
	fingerprint semel.Fingerprint
	owner       semel.Owner
	key         string // scope and name in one piece of memory
	note        string
	outcome     []byte
	fence       uint64
	claimed     int64
	settled     int64 // 0 while claimed
	lease       int64
	expires     int64
	attempt     uint32
	scopeLen    uint16
	state       semel.State
	kept        bool
}

// entry is one entry of the log.
type entry struct {
	number uint64
	clock  int64
	back   uint32
	kind   kind
	record // of kindRenew and kindRelease the fields that they have
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant, which the language cannot write.

// size returns the bytes of the entry, without padding.
func (e *entry) size() int {
	switch e.kind {
	case kindRecord:
		return entryHeader + recordBody + len(e.key) + len(e.note) + len(e.outcome)
	case kindRenew:
		return entryHeader + renewBody
	case kindRelease:
		return entryHeader + releaseBody
	case kindGap, kindMark:
	}
	return entryHeader
}

// padded rounds up to where the next entry begins.
func padded(size int) int { return (size + entryAlign - 1) &^ (entryAlign - 1) }

// encode appends the entry and its padding.
func (e *entry) encode(b []byte, salt uint32) []byte {
	from := len(b)
	size := e.size()
	b = binary.LittleEndian.AppendUint32(b, uint32(size)) //nolint:gosec // at most maxEntry.
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, e.number)
	b = appendInt(b, e.clock)
	b = binary.LittleEndian.AppendUint32(b, e.back)
	b = append(b, byte(e.kind), byte(e.state), flag(e.kept), 0)
	switch e.kind {
	case kindRecord:
		b = e.encodeRecord(b)
	case kindRenew:
		b = append(b, e.digest[:]...)
		b = binary.LittleEndian.AppendUint64(b, e.fence)
		b = appendInt(appendInt(b, e.lease), e.expires)
	case kindRelease:
		b = append(b, e.digest[:]...)
		b = binary.LittleEndian.AppendUint64(b, e.fence)
	case kindGap, kindMark:
	}
	binary.LittleEndian.PutUint32(b[from+4:], crc32.Update(salt, castagnoli, b[from+8:]))
	for len(b)%entryAlign != from%entryAlign {
		b = append(b, 0)
	}
	return b
}

func (r *record) encodeRecord(b []byte) []byte {
	b = append(b, r.digest[:]...)
	b = binary.LittleEndian.AppendUint64(b, r.fence)
	b = append(b, r.owner[:]...)
	b = append(b, r.fingerprint[:]...)
	b = appendInt(appendInt(appendInt(appendInt(b, r.claimed), r.settled), r.lease), r.expires)
	b = binary.LittleEndian.AppendUint32(b, r.attempt)
	b = binary.LittleEndian.AppendUint16(b, r.scopeLen)
	b = append(b, byte(len(r.key)-int(r.scopeLen)), byte(len(r.note))) //nolint:gosec // bounded by MaxKeyBytes and MaxNoteBytes.
	b = append(b, r.key...)
	b = append(b, r.note...)
	return append(b, r.outcome...)
}

func appendInt(b []byte, n int64) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(n)) //nolint:gosec // its bits.
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// entrySize returns the size that the entry at the start of b gives itself; 0 when that is impossible.
func entrySize(b []byte) int {
	if len(b) < entryHeader {
		return 0
	}
	size := binary.LittleEndian.Uint32(b)
	if size < entryHeader || size > maxEntry {
		return 0
	}
	return int(size)
}

// decode reads the entry at the start of b, whose texts and outcome then share b's memory. It reports false unless b
// holds a whole entry whose sum is right.
func (e *entry) decode(b []byte, salt uint32) bool {
	size := entrySize(b)
	if size == 0 || size > len(b) || crc32.Update(salt, castagnoli, b[8:size]) != binary.LittleEndian.Uint32(b[4:]) {
		return false
	}
	*e = entry{
		number: binary.LittleEndian.Uint64(b[8:]), clock: intAt(b, 16), back: binary.LittleEndian.Uint32(b[24:]),
		kind: kind(b[28]),
	}
	e.state, e.kept = semel.State(b[29]), b[30] != 0
	body := b[entryHeader:size]
	switch {
	case e.kind == kindRecord && len(body) >= recordBody:
		return e.decodeRecord(body)
	case e.kind == kindRenew && len(body) == renewBody:
		e.lease, e.expires = intAt(body, 40), intAt(body, 48)
	case e.kind == kindRelease && len(body) == releaseBody:
	case (e.kind == kindGap || e.kind == kindMark) && len(body) == 0:
		return true
	default:
		return false
	}
	e.digest, e.fence = semel.Digest(body[:32]), binary.LittleEndian.Uint64(body[32:])
	return true
}

func (r *record) decodeRecord(b []byte) bool {
	r.digest, r.fence = semel.Digest(b[:32]), binary.LittleEndian.Uint64(b[32:])
	r.owner, r.fingerprint = semel.Owner(b[40:56]), semel.Fingerprint(b[56:88])
	r.claimed, r.settled, r.lease, r.expires = intAt(b, 88), intAt(b, 96), intAt(b, 104), intAt(b, 112)
	r.attempt, r.scopeLen = binary.LittleEndian.Uint32(b[120:]), binary.LittleEndian.Uint16(b[124:])
	key, note := int(r.scopeLen)+int(b[126]), int(b[127])
	b = b[recordBody:]
	if len(b) < key+note || r.state < semel.StateClaimed || r.state > semel.StateCancelled || r.state == semel.StateReleased {
		return false
	}
	r.key, r.note = string(b[:key]), string(b[key:key+note])
	if b = b[key+note:]; len(b) > 0 || r.kept {
		r.outcome = b
	}
	return true
}

func intAt(b []byte, at int) int64 {
	return int64(binary.LittleEndian.Uint64(b[at:])) //nolint:gosec // its bits.
}

// final reports whether the record cannot change any more: it is completed or cancelled.
func (r *record) final() bool {
	return r.state == semel.StateCompleted || r.state == semel.StateCancelled
}

// last is the number of the entry, or of the last one that is missing in a gap.
func (e *entry) last() uint64 {
	if e.kind == kindGap {
		return e.number + uint64(e.back)
	}
	return e.number
}

// sync is the number of the first entry that was synced with this one.
func (e *entry) sync() uint64 {
	if e.kind == kindGap {
		return e.number
	}
	return e.number - uint64(e.back)
}

// view is the record as the transition table sees it; nil is absent.
func (r *record) view(now int64) transition.Record {
	if r == nil {
		return transition.Record{}
	}
	return transition.Record{
		State:  transition.State(r.state),
		Lapsed: r.state == semel.StateClaimed && transition.Reached(now, r.lease),
		Fence:  r.fence,
	}
}

// claim makes it a new claim, whatever it was; its fence is drawn by the log.
func (r *record) claim(p *semel.ClaimParams, now int64) {
	until := transition.ClaimedAt(now, p.Lease.Milliseconds(), p.Retention.Milliseconds())
	*r = record{
		digest: p.Digest, fingerprint: p.Fingerprint, owner: p.Owner, key: p.Scope + p.Name, state: semel.StateClaimed,
		scopeLen: uint16(len(p.Scope)), //nolint:gosec // Validate bounds it by semel.MaxScopeBytes.
		attempt:  r.attempt + 1, claimed: now, lease: until.Lapses, expires: until.Expires,
	}
}

// settle makes it what the settlement says.
func (r *record) settle(v *semel.Settlement, now int64) {
	r.state, r.outcome, r.kept, r.note = v.State, v.Outcome, v.Kept, v.Note
	r.settled, r.expires = now, transition.SettledAt(now, v.Retention.Milliseconds())
}

// same reports whether the settlement would change nothing in the record.
func (r *record) same(v *semel.Settlement) bool {
	return r != nil && r.state == v.State && r.kept == v.Kept && bytes.Equal(r.outcome, v.Outcome)
}

// public returns the record as readers get it, read at now.
func (r *record) public(now int64) semel.Record {
	rec := semel.Record{
		Digest: r.digest, Scope: r.key[:r.scopeLen], Name: r.key[r.scopeLen:], Fingerprint: r.fingerprint, State: r.state,
		Fence: semel.Fence(r.fence), Owner: r.owner, Attempt: int(r.attempt), Outcome: r.outcome, Kept: r.kept, Note: r.note,
		ClaimedAt: verb.Time(r.claimed), LeaseUntil: verb.Time(r.lease), ExpiresAt: verb.Time(r.expires), ReadAt: verb.Time(now),
	}
	if r.state != semel.StateClaimed {
		rec.SettledAt = verb.Time(r.settled)
	}
	return rec
}

// milliseconds is a time as entries have it.
func milliseconds(t time.Time) int64 { return t.UnixMilli() }
