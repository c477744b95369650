package formguard

import (
	"encoding/binary"
	"hash/maphash"
)

// Bounds of an outline.
const (
	maxOutlineFields = 64
	maxOutlineName   = 64
)

// Outline describes a form field by field, so that the one in which another form differs can
// be named. [BodyOptions] ask for it. Its sums are worth something in this process alone.
type Outline struct {
	// Sums are a hash of the query and of the fields' names, and one of each field. They are
	// nil for a form with more than 64 fields.
	Sums  []uint64
	names []string

	hash maphash.Hash
}

func newOutline(seed maphash.Seed) *Outline {
	o := &Outline{Sums: make([]uint64, 1)}
	o.hash.SetSeed(seed)
	return o
}

// add takes the bytes of a span that count.
func (o *Outline) add(f format, sp *span, data []byte) {
	if o == nil || o.Sums == nil {
		return
	}
	if sp.begins {
		name, _ := f.pair(*sp)
		if len(name) > maxOutlineName {
			name = ""
		}
		o.names = append(o.names, name)
	}
	_, _ = o.hash.Write(data) // it does not fail
	if !sp.ends {
		return
	}
	o.Sums = append(o.Sums, o.hash.Sum64())
	o.hash.Reset()
	if len(o.Sums) > 1+maxOutlineFields {
		o.Sums, o.names = nil, nil
	}
}

// close adds what is not a field.
func (o *Outline) close(query string) {
	if o == nil || o.Sums == nil {
		return
	}
	for _, text := range append(o.names, query) {
		_ = binary.Write(&o.hash, binary.BigEndian, uint64(len(text)))
		_, _ = o.hash.WriteString(text)
	}
	o.Sums[0] = o.hash.Sum64()
}

// Differs returns the name of the only field in which the form with these sums is another
// one. It is false for the same form, for one with more differences, and where the field
// has no name about which readers agree.
func (o *Outline) Differs(sums []uint64) (name string, ok bool) {
	if o == nil || o.Sums == nil || len(sums) != len(o.Sums) || sums[0] != o.Sums[0] {
		return "", false
	}
	for i, sum := range o.Sums[1:] {
		if sum == sums[i+1] {
			continue
		}
		if ok {
			return "", false
		}
		name, ok = o.names[i], true
	}
	return name, name != ""
}
