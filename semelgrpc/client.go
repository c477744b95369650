package semelgrpc

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
)

// ClientOptions are the settings of a client's interceptor. A nil *ClientOptions is complete.
type ClientOptions struct {
	// Metadata names the metadata entry that holds the key. Default DefaultMetadata.
	Metadata string
	// Field is the path of the request's field that holds the key, if the server reads one ([Options].Field), such as
	// "request_id" (AIP-155). The key of a request that has one there is that, and is also sent in the metadata. One with
	// an empty field, or without it, gets its key in the metadata alone; the request is not changed.
	Field string
	// Mint returns a fresh key: 1 to 255 printable ASCII characters. Default a UUID of version 7.
	Mint func() string
	// Files has the descriptors of methods: those that declare an idempotency_level need no key, and get none. Default
	// protoregistry.GlobalFiles.
	Files *protoregistry.Files
}

// WithKeys gives each unary call of a connection a key, as [UnaryClient] does, outside of every interceptor that is
// chained with [grpc.WithChainUnaryInterceptor], wherever in the list of options that is. So a chained interceptor that
// retries sends one key; chained before [UnaryClient] it would send two for one wish. Do not use
// [grpc.WithUnaryInterceptor] on the same connection: the last of the two options replaces the other.
func WithKeys(o *ClientOptions) (grpc.DialOption, error) {
	first, err := UnaryClient(o)
	if err != nil {
		return nil, err
	}
	return grpc.WithUnaryInterceptor(first), nil
}

// UnaryClient returns an interceptor that gives each call a fresh key, unless its context has one already (see
// [WithIntent]) or its method needs none. It must be outside of interceptors that retry; the retries of gRPC itself are
// inside. Streams get no key on their own: a repetition of a keyed stream does not get its messages.
func UnaryClient(o *ClientOptions) (grpc.UnaryClientInterceptor, error) {
	var set ClientOptions
	if o != nil {
		set = *o
	}
	var err error
	if set.Metadata, err = metadataName(set.Metadata); err != nil {
		return nil, fmt.Errorf("semelgrpc: new client: %w", err)
	}
	path, err := fieldPath(set.Field)
	if err != nil {
		return nil, fmt.Errorf("semelgrpc: new client: %w", err)
	}
	if set.Mint == nil {
		var fresh ids.UUIDs
		set.Mint = func() string { return fresh.New().String() }
	}
	if set.Files == nil {
		set.Files = protoregistry.GlobalFiles
	}
	var known methods
	needed := func(method string) KeyPolicy {
		if levelOf(set.Files, method) == descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN {
			return KeyRequired
		}
		return KeyIgnored
	}
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if known.policy(method, needed) == KeyRequired {
			ctx = set.keyed(ctx, keyInside(req, path))
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}, nil
}

// keyInside returns the key in a field of the request, "" for none. The server judges one that metadata cannot carry.
func keyInside(req any, path []protoreflect.Name) string {
	m := messageOf(req)
	if len(path) == 0 || m == nil {
		return ""
	}
	key, err := textAt(m.ProtoReflect(), path)
	if err != nil {
		return ""
	}
	return key
}

// keyed returns a context with a key under the name of these options: one that is there, that of [WithIntent], the one
// inside of the request, or a fresh one.
func (o *ClientOptions) keyed(ctx context.Context, inside string) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	if len(md.Get(o.Metadata)) > 0 {
		return ctx
	}
	intent, ok := ctx.Value(intentContextKey{}).(string)
	switch {
	case !ok && inside == "":
		return metadata.AppendToOutgoingContext(ctx, o.Metadata, written(o.Mint()))
	case !ok && (semel.Key{Scope: semel.ScopeGlobal, Name: inside}).Validate() != nil:
		return ctx
	case !ok:
		return metadata.AppendToOutgoingContext(ctx, o.Metadata, written(inside))
	}
	if sent := md.Get(DefaultMetadata); len(sent) == 1 && sent[0] == intent {
		md.Delete(DefaultMetadata)
	}
	return withMetadata(ctx, md, o.Metadata, intent)
}

type intentContextKey struct{}

// WithIntent says that the calls under the returned context are the intent with this key, which is sent with each of
// them: as DefaultMetadata, or under the name of the ClientOptions of their connection. Streams send it as DefaultMetadata
// always. Keep the key with the wish (a row, a draft, a queue entry) and use it again when the operation
// is retried, even by another process. A key that another WithIntent has put there is replaced.
//
// One intent is one call. Two different requests under one context would share the key, and the second would be refused
// as a reuse of it.
func WithIntent(ctx context.Context, key string) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	key = written(key)
	return withMetadata(context.WithValue(ctx, intentContextKey{}, key), md, DefaultMetadata, key)
}

// written returns the key as the metadata has it: in quotes where it could be read as something else.
func written(key string) string {
	if strings.ContainsAny(key, `",\`) || strings.TrimSpace(key) != key {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
	}
	return key
}

// withMetadata puts the only value of a name into md, which the context takes over.
func withMetadata(ctx context.Context, md metadata.MD, name, value string) context.Context {
	if md == nil {
		md = metadata.MD{}
	}
	md.Set(name, value)
	return metadata.NewOutgoingContext(ctx, md)
}

// NewIntent is [WithIntent] with a fresh key, a UUID. Call it once per wish, outside the loop that retries.
func NewIntent(ctx context.Context) context.Context {
	var fresh ids.UUIDs
	return WithIntent(ctx, fresh.New().String())
}
