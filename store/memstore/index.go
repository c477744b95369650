package memstore

import (
	"encoding/binary"

	"github.com/semel-dev/semel"
)

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
