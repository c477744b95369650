package semelgrpc_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/semel-dev/semel/semelgrpc"
)

// everyKind describes a message with a field of each kind, and of what contains others.
const everyKind = `
name: "every.proto" package: "every" syntax: "proto2"
enum_type { name: "Color" value { name: "NONE" number: 0 } value { name: "NEGATIVE" number: -1 } }
message_type { name: "Kind"
  field { name: "double"   number: 1  type: TYPE_DOUBLE   label: LABEL_OPTIONAL }
  field { name: "float"    number: 2  type: TYPE_FLOAT    label: LABEL_OPTIONAL }
  field { name: "int64"    number: 3  type: TYPE_INT64    label: LABEL_OPTIONAL }
  field { name: "uint64"   number: 4  type: TYPE_UINT64   label: LABEL_OPTIONAL }
  field { name: "int32"    number: 5  type: TYPE_INT32    label: LABEL_OPTIONAL }
  field { name: "fixed64"  number: 6  type: TYPE_FIXED64  label: LABEL_OPTIONAL }
  field { name: "fixed32"  number: 7  type: TYPE_FIXED32  label: LABEL_OPTIONAL }
  field { name: "bool"     number: 8  type: TYPE_BOOL     label: LABEL_OPTIONAL }
  field { name: "string"   number: 9  type: TYPE_STRING   label: LABEL_OPTIONAL }
  field { name: "group"    number: 10 type: TYPE_GROUP    label: LABEL_OPTIONAL type_name: ".every.Kind.Group" }
  field { name: "message"  number: 11 type: TYPE_MESSAGE  label: LABEL_OPTIONAL type_name: ".every.Kind" }
  field { name: "bytes"    number: 12 type: TYPE_BYTES    label: LABEL_OPTIONAL }
  field { name: "uint32"   number: 13 type: TYPE_UINT32   label: LABEL_OPTIONAL }
  field { name: "enum"     number: 14 type: TYPE_ENUM     label: LABEL_OPTIONAL type_name: ".every.Color" }
  field { name: "sfixed32" number: 15 type: TYPE_SFIXED32 label: LABEL_OPTIONAL }
  field { name: "sfixed64" number: 16 type: TYPE_SFIXED64 label: LABEL_OPTIONAL }
  field { name: "sint32"   number: 17 type: TYPE_SINT32   label: LABEL_OPTIONAL }
  field { name: "sint64"   number: 18 type: TYPE_SINT64   label: LABEL_OPTIONAL }
  field { name: "packed"   number: 19 type: TYPE_SINT32   label: LABEL_REPEATED options { packed: true } }
  field { name: "several"  number: 20 type: TYPE_INT64    label: LABEL_REPEATED }
  field { name: "messages" number: 21 type: TYPE_MESSAGE  label: LABEL_REPEATED type_name: ".every.Kind" }
  field { name: "of_text"  number: 22 type: TYPE_MESSAGE  label: LABEL_REPEATED type_name: ".every.Kind.OfTextEntry" }
  field { name: "of_bool"  number: 23 type: TYPE_MESSAGE  label: LABEL_REPEATED type_name: ".every.Kind.OfBoolEntry" }
  field { name: "of_int"   number: 24 type: TYPE_MESSAGE  label: LABEL_REPEATED type_name: ".every.Kind.OfIntEntry" }
  field { name: "of_uint"  number: 25 type: TYPE_MESSAGE  label: LABEL_REPEATED type_name: ".every.Kind.OfUintEntry" }
  nested_type { name: "Group" field { name: "a" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL } }
  nested_type { name: "OfTextEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "value" number: 2 type: TYPE_MESSAGE label: LABEL_OPTIONAL type_name: ".every.Kind" } }
  nested_type { name: "OfBoolEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_BOOL label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_INT64 label: LABEL_OPTIONAL } }
  nested_type { name: "OfIntEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_SINT32 label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_INT64 label: LABEL_OPTIONAL } }
  nested_type { name: "OfUintEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_FIXED64 label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_INT64 label: LABEL_OPTIONAL } }
}`

const full = `double: -1.5 float: 2.5 int64: -3 uint64: 18446744073709551615 int32: -5 fixed64: 6 fixed32: 7 bool: true string: "nine" Group { a: 10 }
message { string: "inner" message { several: [1, 2] } } bytes: "\000\377" uint32: 13 enum: NEGATIVE sfixed32: -15 sfixed64: -16 sint32: -17 sint64: -18
packed: [-1, 2, 300] several: [-1, 2, 300] messages { bool: false } messages { } messages { string: "x" }`

const maps = ` of_text { key: "b" value { int64: 2 } } of_text { key: "a" value { } } of_text { key: "" } of_bool { key: true value: 1 } of_bool { key: false value: 0 }
of_int { key: 1 value: 1 } of_int { key: -2 value: 2 } of_int { key: 0 value: 3 } of_uint { key: 18446744073709551615 value: 1 } of_uint { key: 2 value: 2 }`

func kindOf(tb testing.TB) protoreflect.MessageDescriptor {
	tb.Helper()
	var described descriptorpb.FileDescriptorProto
	noError(tb, prototext.Unmarshal([]byte(everyKind), &described))
	file, err := protodesc.NewFile(&described, nil)
	noError(tb, err)
	return file.Messages().ByName("Kind")
}

func parsed(tb testing.TB, desc protoreflect.MessageDescriptor, text string) *dynamicpb.Message {
	tb.Helper()
	m := dynamicpb.NewMessage(desc)
	noError(tb, prototext.Unmarshal([]byte(text), m))
	return m
}

// inOrder marshals with the fields in the order of their numbers, as clients do. The module that marshals has oneofs and
// extensions elsewhere, which the test leaves out.
func inOrder(tb testing.TB, m proto.Message) []byte {
	tb.Helper()
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	noError(tb, err)
	return wire
}

// TestFingerprintIsStable: the fingerprints of before: a retry must find them after an upgrade. Never change a line of it.
func TestFingerprintIsStable(t *testing.T) {
	t.Parallel()
	desc := kindOf(t)
	for text, want := range map[string]string{
		"":          "cae2ed400646ace8113aa74549844e80c6ec731fb95c36ebbd080fdb0ca079ef",
		full:        "77836c648617b1bfff8ec97315a8f3360a02332ce1e9bb926a43881abe088946",
		full + maps: "02000e727c28c2cac4c1f37d3fd4670cd0d0ddbe35500e4160f0a3a9b14c0ba1",
	} {
		if got := semelgrpc.Fingerprint("/every.Service/Create", parsed(t, desc, text)).String(); got != want {
			t.Errorf("%.40q: got %s, want %s", text, got, want)
		}
	}
}

// TestFingerprintOfVersions: a server that knows none of the fields, or some, finds the fingerprint of one that knows all: a retry during a
// rolling deploy is not a mismatch.
func TestFingerprintOfVersions(t *testing.T) {
	t.Parallel()
	desc := kindOf(t)
	m := parsed(t, desc, full)
	wire := inOrder(t, m)
	want := semelgrpc.Fingerprint("m", m)
	older := &emptypb.Empty{}
	noError(t, proto.Unmarshal(wire, older))
	if got := semelgrpc.Fingerprint("m", older); got != want {
		t.Error("a server that knows no field finds another fingerprint")
	}
	some := &wrapperspb.StringValue{} // knows field 1, as another kind, which leaves it unknown
	noError(t, proto.Unmarshal(wire, some))
	if got := semelgrpc.Fingerprint("m", some); got != want {
		t.Error("a server that knows a field otherwise finds another fingerprint")
	}
}

// TestFingerprintIgnoresOrder: of fields and of entries on the wire, known or not.
func TestFingerprintIgnoresOrder(t *testing.T) {
	t.Parallel()
	desc := kindOf(t)
	m := parsed(t, desc, full+maps)
	want := semelgrpc.Fingerprint("m", m)
	byNumber := map[protowire.Number][][]byte{}
	var numbers []protowire.Number
	for wire := inOrder(t, m); len(wire) > 0; {
		number, _, n := protowire.ConsumeField(wire)
		if byNumber[number] == nil {
			numbers = append(numbers, number)
		}
		byNumber[number] = append(byNumber[number], wire[:n])
		wire = wire[n:]
	}
	older := &emptypb.Empty{}
	noError(t, proto.Unmarshal(inOrder(t, m), older))
	wantOlder := semelgrpc.Fingerprint("m", older)
	const firstMap = 22
	for range 20 {
		rand.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
		var known, unknown []byte
		for _, number := range numbers {
			entries := slices.Clone(byNumber[number])
			unknown = append(unknown, bytes.Join(entries, nil)...) // values of one field stay in order
			if number >= firstMap {
				rand.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
			}
			known = append(known, bytes.Join(entries, nil)...)
		}
		again := dynamicpb.NewMessage(desc)
		noError(t, proto.Unmarshal(known, again))
		noError(t, proto.Unmarshal(unknown, older))
		if semelgrpc.Fingerprint("m", again) != want || semelgrpc.Fingerprint("m", older) != wantOlder {
			t.Fatalf("in the order %v: got another fingerprint", numbers)
		}
	}
}

// TestFingerprintDiffers: whatever is asked differently is something else.
func TestFingerprintDiffers(t *testing.T) {
	t.Parallel()
	desc := kindOf(t)
	seen := map[string]string{}
	for _, text := range []string{
		"", "double: 0", "double: -0.0", "double: 1", "double: nan", "double: inf", "double: -inf", "float: 0", "float: 1", "int64: 0", "int64: 1", "int64: -1",
		"uint64: 0", "int32: 0", "fixed64: 0", "fixed32: 0", "bool: false", "bool: true", `string: ""`, `string: "a"`, `string: "ab"`, "Group { }",
		"Group { a: 0 }", "message { }", "message { message { } }", "message { int64: 1 }", `bytes: ""`, `bytes: "a"`, "uint32: 0", "enum: NONE", "enum: NEGATIVE",
		"sint32: 0", "sint32: -1", "packed: [0]", "packed: [0, 0]", "packed: [1, 2]", "packed: [2, 1]", "several: [0]", "several: [1, 2]", "several: [2, 1]",
		"messages { }", "messages { } messages { }", "of_bool { key: false value: 0 }", "of_bool { key: true value: 0 }", "of_bool { key: false value: 1 }",
		"of_int { key: 1 value: 2 } of_int { key: 2 value: 1 }", "of_int { key: 1 value: 1 } of_int { key: 2 value: 2 }",
	} {
		got := semelgrpc.Fingerprint("m", parsed(t, desc, text)).String()
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q have one fingerprint", text, other)
		}
		seen[got] = text
	}
	if m := parsed(t, desc, full); semelgrpc.Fingerprint("m", m) == semelgrpc.Fingerprint("n", m) || semelgrpc.Fingerprint("m", nil) == semelgrpc.Fingerprint("m", m) {
		t.Error("another method, or no request, has the same fingerprint")
	}
}

// TestFingerprintOfNaN: there are many, and they are one.
func TestFingerprintOfNaN(t *testing.T) {
	t.Parallel()
	of := func(bits uint64) string {
		return semelgrpc.Fingerprint("m", wrapperspb.Double(math.Float64frombits(bits))).String()
	}
	of32 := func(bits uint32) string {
		return semelgrpc.Fingerprint("m", wrapperspb.Float(math.Float32frombits(bits))).String()
	}
	if of(0x7FF8000000000001) != of(0xFFF0000000000123) || of32(0x7FC00001) != of32(0xFF800123) {
		t.Error("two NaNs differ")
	}
}

// TestFingerprintOfDepth: hostile nesting costs what it weighs.
func TestFingerprintOfDepth(t *testing.T) {
	t.Parallel()
	v := structpb.NewNullValue()
	for range 3000 {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	wire := inOrder(t, v)
	again := &emptypb.Empty{}
	noError(t, proto.Unmarshal(wire, again))
	if semelgrpc.Fingerprint("m", v) != semelgrpc.Fingerprint("m", again) {
		t.Error("a deep message has another fingerprint than its bytes")
	}
}

// FuzzFingerprint: a message has the fingerprint of its copy by the wire, and no message makes it fail.
func FuzzFingerprint(f *testing.F) {
	desc := kindOf(f)
	f.Add(inOrder(f, parsed(f, desc, full+maps)))
	f.Add([]byte{0x08, 0x01, 0x0b, 0x0c, 0xfa, 0x01, 0x02, 0x08, 0x01})
	f.Fuzz(func(t *testing.T, wire []byte) {
		m := dynamicpb.NewMessage(desc)
		if !unmarshals(wire, m) {
			return
		}
		again := dynamicpb.NewMessage(desc)
		noError(t, proto.Unmarshal(inOrder(t, m), again))
		if semelgrpc.Fingerprint("m", m) != semelgrpc.Fingerprint("m", again) {
			t.Errorf("%x: the copy has another fingerprint", wire)
		}
	})
}

// unmarshals reports whether the bytes are a message. The module panics at an entry of a map that has no key, where the type is made at run time.
func unmarshals(wire []byte, m proto.Message) (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	return proto.Unmarshal(wire, m) == nil
}
