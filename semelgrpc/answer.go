package semelgrpc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"
)

// An answer as it is recorded: the mark, the version, and fields on the wire of protobuf. A summary of an answer that is
// not kept has its code alone.
const (
	answerMark    = 'g' // begins the outcome of no other door
	answerVersion = 1

	fieldCode    protowire.Number = 1 // varint
	fieldStatus  protowire.Number = 2 // google.rpc.Status, of an error
	fieldType    protowire.Number = 3 // the full name of the message
	fieldMessage protowire.Number = 4 // its bytes
	fieldHeader  protowire.Number = 5 // an entry: its name (1) and each of its values (2)
	fieldTrailer protowire.Number = 6 // the same

	entryName  protowire.Number = 1
	entryValue protowire.Number = 2
)

var (
	errAnswer = errors.New("semelgrpc: the recorded outcome is not an answer of gRPC (was it recorded through another door?)")
	errNewer  = errors.New("semelgrpc: the recorded answer has a form that this program does not know: a newer one recorded it, upgrade this one")
)

// answer is the message or error of a call, with its headers and trailers.
type answer struct {
	code            codes.Code
	status          []byte // of an error
	kind            protoreflect.FullName
	message         []byte
	header, trailer metadata.MD
}

// appendSummary appends the form of an answer that is not kept.
func appendSummary(b []byte, code codes.Code) []byte {
	b = append(b, answerMark, answerVersion)
	b = protowire.AppendTag(b, fieldCode, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(code))
}

// appendAnswer appends the form of a whole answer. An error means that it cannot be kept.
func appendAnswer(b []byte, failure *status.Status, message proto.Message, header, trailer metadata.MD) ([]byte, error) {
	b = appendSummary(b, failure.Code())
	var err error
	if message != nil {
		b = protowire.AppendTag(b, fieldType, protowire.BytesType)
		b = protowire.AppendString(b, string(message.ProtoReflect().Descriptor().FullName()))
		b = protowire.AppendTag(b, fieldMessage, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(proto.Size(message))) //nolint:gosec // not negative.
		b, err = proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, message)
	} else {
		var text []byte
		text, err = proto.Marshal(failure.Proto())
		b = protowire.AppendTag(b, fieldStatus, protowire.BytesType)
		b = protowire.AppendBytes(b, text)
	}
	if err != nil {
		return nil, fmt.Errorf("marshal the answer: %w", err)
	}
	b = appendMetadata(b, fieldHeader, header)
	return appendMetadata(b, fieldTrailer, trailer), nil
}

// appendMetadata appends what may be replayed, names in order.
func appendMetadata(b []byte, number protowire.Number, md metadata.MD) []byte {
	if len(md) == 0 {
		return b
	}
	for _, name := range slices.Sorted(maps.Keys(md)) {
		if neverStored(strings.ToLower(name)) {
			continue
		}
		entry := protowire.AppendString(protowire.AppendTag(nil, entryName, protowire.BytesType), name)
		for _, value := range md[name] {
			entry = protowire.AppendString(protowire.AppendTag(entry, entryValue, protowire.BytesType), value)
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), entry)
	}
	return b
}

// readAnswer reads either form. Its slices are parts of the outcome, which the reader must not change.
func readAnswer(outcome []byte) (*answer, error) {
	switch {
	case len(outcome) < 2 || outcome[0] != answerMark || outcome[1] < answerVersion:
		return nil, errAnswer
	case outcome[1] > answerVersion:
		return nil, errNewer
	}
	a := &answer{}
	err := eachField(outcome[2:], func(number protowire.Number, v uint64, data []byte) error {
		switch number { //nolint:exhaustive // there are those that appendAnswer writes.
		case fieldCode:
			a.code = codes.Code(v) //nolint:gosec // written from a code.
		case fieldStatus:
			a.status = data
		case fieldType:
			a.kind = protoreflect.FullName(data)
		case fieldMessage:
			a.message = data
		case fieldHeader:
			return readEntry(&a.header, data)
		case fieldTrailer:
			return readEntry(&a.trailer, data)
		default:
			return errNewer
		}
		return nil
	})
	return a, err
}

func readEntry(md *metadata.MD, entry []byte) error {
	if *md == nil {
		*md = metadata.MD{}
	}
	name := ""
	return eachField(entry, func(number protowire.Number, _ uint64, data []byte) error {
		switch number { //nolint:exhaustive // there are those that appendAnswer writes.
		case entryName:
			name = string(data)
			(*md)[name] = nil
		case entryValue:
			(*md)[name] = append((*md)[name], string(data))
		default:
			return errNewer
		}
		return nil
	})
}

// eachField visits the fields of a message that holds numbers and bytes.
func eachField(b []byte, visit func(number protowire.Number, v uint64, data []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errAnswer
		}
		b = b[n:]
		var v uint64
		var data []byte
		switch kind { //nolint:exhaustive // no other was written.
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(b)
		default:
			return errNewer
		}
		if n < 0 {
			return errAnswer
		}
		b = b[n:]
		if err := visit(number, v, data); err != nil {
			return err
		}
	}
	return nil
}

// failure returns the recorded error.
func (a *answer) failure() (*status.Status, error) {
	var p spb.Status
	if err := proto.Unmarshal(a.status, &p); err != nil || codes.Code(p.GetCode()) != a.code { //nolint:gosec // written from a code.
		return nil, errAnswer
	}
	return status.FromProto(&p), nil
}

// response returns the recorded message. One of a type that is not registered comes as an Empty whose unknown fields are
// its bytes: marshalled as protobuf, it equals the recorded one. wire reports whether the caller takes protobuf.
func (a *answer) response(types protoregistry.MessageTypeResolver, wire bool) (proto.Message, error) {
	kind, err := types.FindMessageByName(a.kind)
	if err != nil {
		if !wire {
			return nil, fmt.Errorf("semelgrpc: the type %s of the recorded answer is not registered, and the caller does not take protobuf: %w", a.kind, err)
		}
		carrier := &emptypb.Empty{}
		carrier.ProtoReflect().SetUnknown(slices.Clone(a.message))
		return carrier, nil
	}
	m := kind.New().Interface()
	if err := (proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: false}).Unmarshal(a.message, m); err != nil {
		return nil, fmt.Errorf("semelgrpc: read the recorded answer as %s: %w", a.kind, err)
	}
	return m, nil
}
