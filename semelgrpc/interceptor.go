package semelgrpc

import (
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc/metadata"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// Interceptor makes calls that carry a key happen once: [Interceptor.Unary] and [Interceptor.Stream] are interceptors of a
// server. Make one with [New]. It is safe for concurrent use.
type Interceptor struct {
	guard   *semel.Guard
	scope   ScopeFunc
	set     settings
	methods methods
	writers sync.Pool // of *writer
	answers sync.Pool // of *[]byte
	words   map[outcomelog.Outcome]metadata.MD
}

// New returns an interceptor over the guard, whose policy says how long answers are kept, how long a duplicate waits, what
// happens with unknown outcomes, and what an error of a handler means (see [semel.Policy]). opts may be nil.
func New(g *semel.Guard, scope ScopeFunc, opts *Options) (*Interceptor, error) {
	if g == nil {
		return nil, errors.New("semelgrpc: new interceptor: guard is nil")
	}
	if scope == nil {
		return nil, errors.New("semelgrpc: new interceptor: scope is nil (say whose keys these are, for example with ScopeBy)")
	}
	set, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if set.Transactor != nil {
		if err := g.CheckTx(); err != nil {
			return nil, fmt.Errorf("semelgrpc: new interceptor: %w", err)
		}
	}
	return &Interceptor{
		guard: g, scope: scope, set: set,
		writers: sync.Pool{New: func() any { return newWriter() }},
		answers: sync.Pool{New: func() any { return new([]byte) }},
		words:   words(),
	}, nil
}
