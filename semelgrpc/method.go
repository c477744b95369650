package semelgrpc

import (
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// maxMethods bounds how many methods are remembered: a server that takes unknown ones has no end of them.
const maxMethods = 4096

// methods remembers what is done with the keys of each method.
type methods struct {
	known sync.Map // from full names to KeyPolicy
	count atomic.Int64
}

// policy returns the policy of a method, asking decide once.
func (m *methods) policy(method string, decide func(string) KeyPolicy) KeyPolicy {
	if known, ok := m.known.Load(method); ok {
		policy, _ := known.(KeyPolicy)
		return policy
	}
	policy := decide(method)
	if m.count.Load() < maxMethods {
		m.count.Add(1)
		m.known.Store(method, policy)
	}
	return policy
}

// decide returns the policy of a method, by its descriptor and the options.
func (s *settings) decide(method string) KeyPolicy {
	declared := KeyOptional
	switch levelOf(s.Files, method) {
	case descriptorpb.MethodOptions_NO_SIDE_EFFECTS:
		declared = KeyIgnored
	case descriptorpb.MethodOptions_IDEMPOTENT:
	case descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN:
		if s.Required {
			declared = KeyRequired
		}
	}
	if s.Policy == nil {
		return declared
	}
	return s.Policy(method, declared)
}

// levelOf returns the idempotency_level that a method's descriptor declares; unknown for a method without one. Health
// checks, reflection and channelz declare none, and have no side effects.
func levelOf(files *protoregistry.Files, method string) descriptorpb.MethodOptions_IdempotencyLevel {
	for _, service := range []string{"/grpc.health.", "/grpc.reflection.", "/grpc.channelz."} {
		if strings.HasPrefix(method, service) {
			return descriptorpb.MethodOptions_NO_SIDE_EFFECTS
		}
	}
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	descriptor, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
	}
	options, _ := descriptor.Options().(*descriptorpb.MethodOptions) // nil for what is not a method
	return options.GetIdempotencyLevel()
}
