package semelgrpc

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/semel-dev/semel"
)

const (
	// fingerprintVersion goes first, so that a later way of counting never equals this one.
	fingerprintVersion = "semelgrpc/1"
	// maxBufferBytes is the largest buffer that is kept for the next call.
	maxBufferBytes = 1 << 20
)

// Fingerprint digests what a call asks for: its method and its request, nil for none.
//
// Two requests are the same when their fields are. The digest is over the wire form of the message with its fields in
// the order of their numbers, entries of maps in that of their keys, and every NaN as one; it does not depend on how
// this version of the protobuf module marshals. Fields that this program does not know count as they came, in the
// same form, so that a program which knows them finds the same fingerprint: requests can be repeated while versions are
// replaced. Bytes, a packed google.protobuf.Any among them, count as they are, and -0 differs from 0.
func Fingerprint(method string, req proto.Message) semel.Fingerprint {
	return newWriter().fingerprint(method, req)
}

func (w *writer) fingerprint(method string, req proto.Message) semel.Fingerprint {
	w.at = len(w.buf)
	if req != nil {
		w.message(req.ProtoReflect())
	}
	h := &w.hasher
	h.Reset()
	h.Add(fingerprintVersion)
	h.Add(method)
	h.AddBytes(w.buf[w.at:])
	return h.Sum()
}

// writer fills a buffer from its end, so that the length of a nested message is known when its head is written: the cost
// does not depend on the depth.
type writer struct {
	buf     []byte
	at      int    // buf[at:] is written
	parts   []part // of the message and of those around it
	collect func(protoreflect.FieldDescriptor, protoreflect.Value) bool
	hasher  semel.Hasher
}

func newWriter() *writer {
	w := &writer{}
	w.collect = func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		w.parts = append(w.parts, part{number: field.Number(), field: field, value: value})
		return true
	}
	return w
}

// room returns the n bytes before what is written.
func (w *writer) room(n int) []byte {
	if w.at < n {
		const least = 512
		bigger := make([]byte, max(least, 2*len(w.buf), len(w.buf)+n))
		at := len(bigger) - w.size()
		copy(bigger[at:], w.buf[w.at:])
		w.buf, w.at = bigger, at
	}
	w.at -= n
	return w.buf[w.at : w.at+n]
}

func (w *writer) size() int { return len(w.buf) - w.at }

func (w *writer) varint(v uint64) {
	protowire.AppendVarint(w.room(protowire.SizeVarint(v))[:0], v)
}

func (w *writer) tag(number protowire.Number, t protowire.Type) {
	w.varint(protowire.EncodeTag(number, t))
}

// since writes the length of what was written since the size was this.
func (w *writer) since(size int) { w.varint(uint64(w.size() - size)) } //nolint:gosec // it only grows.

// part is one field of a message: a known one, or the bytes of one that is not known, with its tag.
type part struct {
	number protowire.Number
	field  protoreflect.FieldDescriptor
	value  protoreflect.Value
	raw    []byte
}

func (w *writer) message(m protoreflect.Message) {
	first := len(w.parts)
	m.Range(w.collect)
	for raw := m.GetUnknown(); len(raw) > 0; {
		number, _, n := protowire.ConsumeField(raw)
		if n < 0 { // a handler's own message, which was never on a wire
			number, n = 0, len(raw)
		}
		w.parts = append(w.parts, part{number: number, raw: raw[:n]})
		raw = raw[n:]
	}
	slices.SortStableFunc(w.parts[first:], func(a, b part) int { return cmp.Compare(a.number, b.number) })
	for last := len(w.parts) - 1; last >= first; last-- {
		p := w.parts[last]
		w.parts[last] = part{} // nothing of a request is kept
		w.parts = w.parts[:last]
		if p.field == nil {
			copy(w.room(len(p.raw)), p.raw)
			continue
		}
		w.field(p.field, p.value)
	}
}

func (w *writer) field(field protoreflect.FieldDescriptor, value protoreflect.Value) {
	switch {
	case field.IsMap():
		w.entries(field, value.Map())
	case field.IsList() && field.IsPacked():
		size := w.size()
		for list, i := value.List(), value.List().Len()-1; i >= 0; i-- {
			w.value(field, list.Get(i))
		}
		w.since(size)
		w.tag(field.Number(), protowire.BytesType)
	case field.IsList():
		for list, i := value.List(), value.List().Len()-1; i >= 0; i-- {
			w.single(field, list.Get(i))
		}
	default:
		w.single(field, value)
	}
}

// single writes a value with its tag.
func (w *writer) single(field protoreflect.FieldDescriptor, value protoreflect.Value) {
	if field.Kind() == protoreflect.GroupKind {
		w.tag(field.Number(), protowire.EndGroupType)
	}
	w.value(field, value)
	w.tag(field.Number(), wireType(field.Kind()))
}

// entries writes a map, each entry as the message that it is on the wire.
func (w *writer) entries(field protoreflect.FieldDescriptor, entries protoreflect.Map) {
	keys := make([]protoreflect.MapKey, 0, entries.Len())
	entries.Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, key)
		return true
	})
	slices.SortFunc(keys, compareKeys)
	for _, key := range slices.Backward(keys) {
		size := w.size()
		w.single(field.MapValue(), entries.Get(key))
		w.single(field.MapKey(), key.Value())
		w.since(size)
		w.tag(field.Number(), protowire.BytesType)
	}
}

func compareKeys(a, b protoreflect.MapKey) int {
	switch x := a.Interface().(type) {
	case string:
		return strings.Compare(x, b.String())
	case bool:
		return cmp.Compare(protowire.EncodeBool(x), protowire.EncodeBool(b.Bool()))
	case uint32, uint64:
		return cmp.Compare(a.Uint(), b.Uint())
	}
	return cmp.Compare(a.Int(), b.Int())
}

// value writes a value without its tag.
func (w *writer) value(field protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch field.Kind() {
	case protoreflect.BoolKind:
		w.varint(protowire.EncodeBool(v.Bool()))
	case protoreflect.EnumKind:
		w.varint(uint64(v.Enum())) //nolint:gosec // the wire has the sign so.
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		w.varint(uint64(v.Int())) //nolint:gosec // as above.
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		w.varint(protowire.EncodeZigZag(v.Int()))
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		w.varint(v.Uint())
	case protoreflect.Fixed32Kind:
		w.fixed32(uint32(v.Uint())) //nolint:gosec // it has 32 bits.
	case protoreflect.Sfixed32Kind:
		w.fixed32(uint32(v.Int())) //nolint:gosec // it has 32 bits.
	case protoreflect.FloatKind:
		w.fixed32(math.Float32bits(float32(oneNaN(v.Float()))))
	case protoreflect.Fixed64Kind:
		w.fixed64(v.Uint())
	case protoreflect.Sfixed64Kind:
		w.fixed64(uint64(v.Int())) //nolint:gosec // it has 64 bits.
	case protoreflect.DoubleKind:
		w.fixed64(math.Float64bits(oneNaN(v.Float())))
	case protoreflect.StringKind:
		text := v.String()
		copy(w.room(len(text)), text)
		w.varint(uint64(len(text)))
	case protoreflect.BytesKind:
		data := v.Bytes()
		copy(w.room(len(data)), data)
		w.varint(uint64(len(data)))
	case protoreflect.MessageKind:
		size := w.size()
		w.message(v.Message())
		w.since(size)
	case protoreflect.GroupKind:
		w.message(v.Message())
	}
}

// oneNaN returns one NaN for all.
func oneNaN(f float64) float64 {
	if f != f { //nolint:gocritic // true of NaN alone.
		return math.NaN()
	}
	return f
}

func (w *writer) fixed32(v uint32) { binary.LittleEndian.PutUint32(w.room(4), v) }
func (w *writer) fixed64(v uint64) { binary.LittleEndian.PutUint64(w.room(8), v) }

func wireType(kind protoreflect.Kind) protowire.Type {
	switch kind { //nolint:exhaustive // the rest are varints.
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}
