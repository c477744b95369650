package flow

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/verdict"
)

// mostPlaces bounds the databases of [On] that are remembered.
const mostPlaces = 64

// places knows the names of the databases of [On]. Each database keeps its name, a random one, as a record.
type places struct {
	mu    sync.Mutex // guards the field below
	known map[*semel.Guard]string
}

// of returns the name of the database that the guard's store is in, which gets one if it has none.
func (p *places) of(ctx context.Context, guard *semel.Guard) (string, error) {
	p.mu.Lock()
	name, ok := p.known[guard]
	p.mu.Unlock()
	if ok {
		return name, nil
	}
	view, err := guard.With(semel.Policy{Retention: maxMaxAge, UnknownRetention: maxMaxAge, OnUnknown: semel.Rerun})
	if err != nil {
		return "", err
	}
	key := semel.Key{Scope: verdict.OwnScopes + "flow-database", Name: "name"}
	name, err = semel.Do(ctx, view, key, semel.Fingerprint{}, func(context.Context) (string, error) { return rand.Text(), nil })
	if err != nil {
		return "", fmt.Errorf("the name of the database: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= mostPlaces {
		p.known = map[*semel.Guard]string{}
	}
	p.known[guard] = name
	return name, nil
}

// elsewhere is the result of a marker.
const elsewhere = `"in another database"`

// mark records, in the database of the flow, that a step runs in another one. The marker takes the number of the step, so
// that tombstones and changed functions meet it there. It names the database, so that a release that moves the step is
// refused. The step begins only once its marker is recorded, so writing that twice does no harm.
func (r *Run) mark(s *runStep, late bool) ending {
	m := &runStep{
		settings: settings{base: r.flows.steps, ask: again}, name: s.name, input: s.input, key: s.key,
		decode: func(value json.RawMessage) error {
			if string(value) != elsewhere {
				return errors.New("it ran in the database of the flow")
			}
			return nil
		},
	}
	m.work = func(ctx context.Context) (value json.RawMessage, err error) {
		m.place, err = r.flows.places.of(ctx, s.base)
		return json.RawMessage(elsewhere), semel.MarkReleased(err)
	}
	if end := r.once(m, late); end != (ending{}) || m.place == "" { // recorded by a release that did not name it
		return end
	}
	place, err := r.flows.places.of(r.ctx, s.base)
	switch {
	case err != nil:
		return r.unfinished(s, err)
	case place != m.place:
		return r.parked(s, fmt.Errorf("%w: it began in a database other than the one that On names now", semel.ErrMismatch))
	}
	return ending{}
}

// again is the Ask of a marker, which may be written twice.
func again(context.Context) (json.RawMessage, semel.Verdict, error) {
	return nil, semel.NotHappened, nil
}
