package logstore

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/semel-dev/semel"
)

// A slot of the table is eight bytes: 22 bits of the digest's hash, how far the slot is from where the hash leads (6), and
// the place of the record in the log (36). The index of a slot implies the hash's upper bits, so the table grows, and forgets segments, without
// reading a record.
const (
	placeBits  = 36
	awayBits   = 6
	tagBits    = 22
	firstBits  = 6 // of the smallest table: with the tag, pathBits of the hash are known
	pathBits   = firstBits + tagBits
	placeMask  = 1<<placeBits - 1
	tagMask    = 1<<tagBits - 1
	maxAway    = 1<<awayBits - 1
	shardBits  = 8
	shardCount = 1 << shardBits
)

// place locates an entry in the log, in units of eight bytes: the segment's number modulo maxSegments, and the offset.
type place uint64

// table finds the places of completed and cancelled records by the hashes of their digests. It is an open hash table in
// the order of Robin Hood: no slot is further from its home than those before it on the way.
type table struct {
	slots []uint64
	bits  int // log2 of len(slots)
	n     int
	spill map[uint32][]place // by path, what is too far from home: only digests chosen for it
}

// hash spreads the digest, which is a hash itself unless a test made it.
func hash(d *semel.Digest) uint64 {
	h := binary.LittleEndian.Uint64(d[:])
	h = h*0x9E3779B97F4A7C15 ^ binary.LittleEndian.Uint64(d[8:])
	h = bits.RotateLeft64(h, 29)*0xBF58476D1CE4E5B9 ^ binary.LittleEndian.Uint64(d[16:])
	h = bits.RotateLeft64(h, 31)*0x94D049BB133111EB ^ binary.LittleEndian.Uint64(d[24:])
	h = (h ^ h>>32) * 0x9E3779B97F4A7C15
	return h ^ h>>29
}

func shardOf(h uint64) uint64 { return h >> (64 - shardBits) }

// pathOf returns the bits of the hash that the table keeps.
func pathOf(h uint64) uint32 { return uint32(h >> (64 - shardBits - pathBits) & (1<<pathBits - 1)) }

// find calls match with every place that the path may lead to, until it returns true.
func (t *table) find(path uint32, match func(place) bool) bool {
	if len(t.slots) > 0 {
		mask, tag := t.mask(), uint64(path&tagMask)
		at := t.home(path)
		for away := uint64(0); away <= maxAway; away++ {
			slot := t.slots[at]
			if slot == 0 || slot>>placeBits&maxAway < away {
				break
			}
			if slot>>placeBits&maxAway == away && slot>>(placeBits+awayBits) == tag && match(place(slot&placeMask)) {
				return true
			}
			at = (at + 1) & mask
		}
	}
	return slices.ContainsFunc(t.spill[path], match)
}

// mask wraps an index around.
func (t *table) mask() uint64 { return uint64(len(t.slots)) - 1 }

func (t *table) home(path uint32) uint64 { return uint64(path >> (pathBits - t.bits)) }

// put adds a place.
func (t *table) put(path uint32, p place) {
	if t.n*5 >= len(t.slots)*4 && t.bits < pathBits {
		t.rebuild(max(firstBits, t.bits+1), func(place) bool { return true })
	}
	t.add(path, p)
}

func (t *table) add(path uint32, p place) {
	t.n++
	mask, at := t.mask(), t.home(path)
	slot := uint64(path&tagMask)<<(placeBits+awayBits) | uint64(p)
	for away := uint64(0); away <= maxAway; away++ {
		there := t.slots[at]
		if there == 0 {
			t.slots[at] = slot | away<<placeBits
			return
		}
		if distance := there >> placeBits & maxAway; distance < away {
			t.slots[at] = slot | away<<placeBits
			slot, path = there&^(maxAway<<placeBits), t.pathAt(at, there)
			away = distance
		}
		at = (at + 1) & mask
	}
	if t.spill == nil {
		t.spill = map[uint32][]place{}
	}
	t.spill[path] = append(t.spill[path], place(slot&placeMask))
}

// pathAt returns the path of the slot at this index.
func (t *table) pathAt(at, slot uint64) uint32 {
	home := (at - slot>>placeBits&maxAway) & t.mask()
	return uint32(home>>(t.bits-firstBits)<<tagBits | slot>>(placeBits+awayBits)) //nolint:gosec // pathBits.
}

// move changes the place of what is at from.
func (t *table) move(path uint32, from, to place) {
	for i, p := range t.spill[path] {
		if p == from {
			t.spill[path][i] = to
			return
		}
	}
	mask, at := t.mask(), t.home(path)
	for range min(maxAway+1, len(t.slots)) {
		if place(t.slots[at]&placeMask) == from {
			t.slots[at] = t.slots[at]&^placeMask | uint64(to)
			return
		}
		at = (at + 1) & mask
	}
}

// rebuild makes a table of 1<<size slots out of those to keep.
func (t *table) rebuild(size int, keep func(place) bool) {
	old := *t
	*t = table{slots: make([]uint64, 1<<size), bits: size}
	for at, slot := range old.slots {
		if slot != 0 && keep(place(slot&placeMask)) {
			t.add(old.pathAt(uint64(at), slot), place(slot&placeMask))
		}
	}
	for path, places := range old.spill {
		for _, p := range places {
			if keep(p) {
				t.add(path, p)
			}
		}
	}
}

// forget removes the places that are not kept, and makes the table smaller when it is mostly empty.
func (t *table) forget(keep func(place) bool) {
	if t.n == 0 {
		return
	}
	left := 0
	for _, slot := range t.slots {
		if slot != 0 && keep(place(slot&placeMask)) {
			left++
		}
	}
	size := t.bits
	for size > firstBits && left*5 < 1<<size {
		size--
	}
	t.rebuild(size, keep)
}
