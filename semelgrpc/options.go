package semelgrpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/semel-dev/semel"
)

// DefaultMetadata names the metadata entry that holds the key.
const DefaultMetadata = "idempotency-key"

// KeyPolicy says how the keys of a method are treated.
type KeyPolicy uint8

const (
	// KeyOptional means: a call with a key happens once; one without passes untouched.
	KeyOptional KeyPolicy = iota
	// KeyRequired means: a call without a key is refused (INVALID_ARGUMENT, KEY_MISSING).
	KeyRequired
	// KeyIgnored means: every call passes untouched.
	KeyIgnored
)

// Options are the settings of an [Interceptor]. A nil *Options is complete.
type Options struct {
	// Metadata names the metadata entry that holds the key. Default DefaultMetadata. A value in double quotes is read as
	// the header of HTTP is; see [semel.ParseKey].
	Metadata string
	// Field, when set, is the path of a string field that holds the key, such as "request_id" (AIP-155) or
	// "header.request_id". A request without it, or with an empty one, has its key in the metadata or none. The two
	// must not differ.
	Field string
	// Required refuses calls without a key, except those of methods that declare an idempotency_level other than
	// IDEMPOTENCY_UNKNOWN, and streams in both directions.
	Required bool
	// Policy, when set, decides about each method in place of what its descriptor declares: NO_SIDE_EFFECTS is
	// KeyIgnored, IDEMPOTENT is KeyOptional, and anything else is KeyRequired or KeyOptional as Required says. It is called
	// with the full name, "/package.Service/Method", and must return the same for the same method.
	Policy func(method string, declared KeyPolicy) KeyPolicy
	// Transactor, when set, runs every handler that has a claim inside of a transaction (promise 4), which it finds in
	// its context: what it writes there commits together with the recorded answer, before that is sent. A panic, an
	// error, or a client that goes away rolls back; an error whose code is kept is recorded without the rows. It must use
	// the database of the guard's store. A key on a stream of answers is refused, because they go out before the commit.
	Transactor semel.Transactor
	// Fingerprint, when set, says what makes two requests of a method the same, in place of the function [Fingerprint].
	// req is the first message of a stream, and nil where that has none.
	Fingerprint func(method string, req proto.Message) (semel.Fingerprint, error)
	// BeforeReplay, when set, is asked before an answer that reveals an earlier attempt is given: a replay, and the refusals
	// IN_FLIGHT, KEY_REUSED, OUTCOME_UNKNOWN, RESPONSE_NOT_KEPT, RESPONSE_UNREADABLE, CANCELLED and DUPLICATE. It checks a
	// right that handlers check and that may have ended since. rec is the record, and nil where the caller sent another
	// request under its key. With nil the answer is given. An error with a status is the answer instead; it must not say
	// whether there was an earlier attempt. Any other error is UNAVAILABLE, without its text. It is called concurrently.
	BeforeReplay func(ctx context.Context, method string, req proto.Message, rec *semel.Record) error
	// Files has the descriptors of methods. Default protoregistry.GlobalFiles.
	Files *protoregistry.Files
	// Types has the types of answers. An answer of another type is replayed to outer interceptors as an
	// emptypb.Empty with the recorded fields as unknown ones, which reaches the client as it was. Default
	// protoregistry.GlobalTypes.
	Types protoregistry.MessageTypeResolver
	// OnDecision, when set, is called for every call that had a key or lacked a required one, before its answer is
	// sent. It must return at once.
	OnDecision func(context.Context, Decision)
}

// settings are the options with the defaults filled in.
type settings struct {
	Options
	binary string // the name under which a client would send Metadata as bytes
	path   []protoreflect.Name
}

func (o *Options) withDefaults() (settings, error) {
	var s settings
	if o != nil {
		s.Options = *o
	}
	var err error
	if s.Metadata, err = metadataName(s.Metadata); err != nil {
		return settings{}, fmt.Errorf("semelgrpc: new interceptor: %w", err)
	}
	s.binary = s.Metadata + binarySuffix
	if s.path, err = fieldPath(s.Field); err != nil {
		return settings{}, fmt.Errorf("semelgrpc: new interceptor: %w", err)
	}
	s.Files = cmp.Or(s.Files, protoregistry.GlobalFiles)
	if s.Types == nil {
		s.Types = protoregistry.GlobalTypes
	}
	return s, nil
}

// fieldPath splits the path of a field; "" has none.
func fieldPath(field string) (path []protoreflect.Name, err error) {
	if field == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(field, ".") {
		if !protoreflect.Name(name).IsValid() {
			return nil, fmt.Errorf("the option Field, %q, is not a path of field names", field)
		}
		path = append(path, protoreflect.Name(name))
	}
	return path, nil
}

// metadataName returns the name in lower case, as metadata has it, or the default for none.
func metadataName(name string) (string, error) {
	name = strings.ToLower(cmp.Or(name, DefaultMetadata))
	switch {
	case strings.HasSuffix(name, binarySuffix):
		return "", fmt.Errorf("metadata %q holds bytes (use a name without %s: keys are text)", name, binarySuffix)
	case strings.HasPrefix(name, "grpc-") || strings.HasPrefix(name, ":"):
		return "", fmt.Errorf("metadata %q belongs to gRPC", name)
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "":
		return "", errors.New("the name of the metadata has other characters than letters, digits, '-', '_' and '.'")
	}
	return name, nil
}
