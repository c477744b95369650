package semelgrpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/browserkey"
)

// binarySuffix ends the names of metadata that holds bytes.
const binarySuffix = "-bin"

var (
	errKeyMissing = errors.New("semelgrpc: the call carries no key")
	errNotProto   = errors.New("semelgrpc: the request is not a protobuf message, so that two of them cannot be compared (leave the key out)")
	errNotText    = errors.New("semelgrpc: the field of the key is not a single string")
	errBothWays   = errors.New("semelgrpc: a stream in both directions cannot be made to happen once (leave the key out)")
	errBeforeEnd  = errors.New("semelgrpc: a stream of answers goes out before the transaction has committed (leave the key out)")
)

// keyIn returns the key in the metadata, or found = false for none.
func (s *settings) keyIn(ctx context.Context) (name string, found bool, err error) {
	values := metadata.ValueFromIncomingContext(ctx, s.Metadata)
	switch len(values) {
	case 0:
		if len(metadata.ValueFromIncomingContext(ctx, s.binary)) > 0 {
			return "", true, fmt.Errorf("%w: it came as bytes in %s; send text in %s", semel.ErrKeyInvalid, s.binary, s.Metadata)
		}
		if s.Metadata != DefaultMetadata && len(metadata.ValueFromIncomingContext(ctx, DefaultMetadata)) > 0 && !addedByBrowser(ctx) {
			return "", true, fmt.Errorf("%w: it came in %s; this server reads %s (ClientOptions.Metadata)", semel.ErrKeyInvalid, DefaultMetadata, s.Metadata)
		}
		return "", false, nil
	case 1:
		key, err := semel.ParseKey(semel.ScopeGlobal, values[0])
		return key.Name, true, err
	}
	return "", true, fmt.Errorf("%w: the metadata has %d of them", semel.ErrKeyInvalid, len(values))
}

// addedByBrowser reports whether the key came from a browser, by gRPC-Web, and its page did not write it.
func addedByBrowser(ctx context.Context) bool {
	return browserkey.Added(func(name string) []string { return metadata.ValueFromIncomingContext(ctx, name) })
}

// key returns the key of a call, given the one in the metadata, if any. req is nil for a stream without messages.
func (s *settings) key(req proto.Message, name string, found bool) (string, bool, error) {
	if len(s.path) == 0 || req == nil {
		return name, found, nil
	}
	inside, err := textAt(req.ProtoReflect(), s.path)
	switch {
	case err != nil:
		return "", true, err
	case inside == "":
		return name, found, nil
	case found && inside != name:
		return "", true, fmt.Errorf("%w: the metadata has another one than the field %s (send one of them; ClientOptions.Field: %q does)", semel.ErrKeyInvalid, s.Field, s.Field)
	}
	return inside, true, (semel.Key{Scope: semel.ScopeGlobal, Name: inside}).Validate()
}

// textAt returns the text of the field at the end of the path; "" where there is none.
func textAt(m protoreflect.Message, path []protoreflect.Name) (string, error) {
	for i, name := range path {
		field := m.Descriptor().Fields().ByName(name)
		last := i == len(path)-1
		switch {
		case field == nil:
			return "", nil
		case field.IsList() || field.IsMap() || (last && field.Kind() != protoreflect.StringKind) || (!last && field.Message() == nil):
			return "", errNotText
		case last:
			return m.Get(field).String(), nil
		}
		m = m.Get(field).Message() // empty where it is not set
	}
	return "", nil
}

// messageOf returns the request as a message of the present interface, or nil for anything else.
func messageOf(req any) proto.Message {
	switch m := req.(type) {
	case proto.Message:
		return m
	case protoadapt.MessageV1:
		return protoadapt.MessageV2Of(m)
	}
	return nil
}
