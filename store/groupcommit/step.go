package groupcommit

import (
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// stepState is the stage of a step.
type stepState uint8

const (
	waiting  stepState = iota // in the queue, or behind another one of its digest
	granted                   // its caller takes it by the store's own verb
	inBatch                   // in a batch, which owns it
	answered                  // its answer is there
	givenUp                   // Close let it wait in vain
)

// verb says which of a step's two halves counts.
type verb uint8

const (
	claims verb = iota
	settles
	verbs
)

// subject orders the steps that take turns: those of one digest and one verb. A claim
// never waits for a settlement of its digest, nor a settlement for a claim.
type subject struct {
	digest semel.Digest
	verb   verb
}

// step is one claim or settlement on its way. All but the parameters, the answer, outcome
// and done is guarded by the stream's mu; parameters and outcome are the caller's
// until it enters, the answer is the batch's until done has spoken.
type step struct {
	claim   semel.ClaimParams
	settle  semel.SettleParams
	answer  semel.ClaimAnswer // to a settlement its error alone
	outcome []byte            // the memory of the settlement's outcome, to be used again
	done    chan struct{}     // of length 1: granted, answered or given up

	subject   subject
	state     stepState
	alone     bool  // it does not share a batch
	acquired  bool  // it takes a place in the queue
	abandoned bool  // its caller has left; the batch recycles it
	lost      error // why it is unknown whether the batch took it
	turn      turn
	since     time.Time // when it began to wait

	before, after *step // steps of the same place; before is nil for the one whose turn it is
	prev, next    *step // the queue's
}

// undecided keeps a store that was closed meanwhile from looking as if nothing
// had happened to a step that a lost batch may have taken.
func (st *step) undecided(err error) error {
	if st.lost != nil && errors.Is(err, semel.ErrClosed) {
		return fmt.Errorf("groupcommit: the batch was lost: %w; then: %v", st.lost, err) //nolint:errorlint // not the outcome of the step.
	}
	return err
}

// queue is a list of steps of different places, none of them under way.
type queue struct {
	first, last *step
	n           int
}

func (q *queue) pushBack(st *step) {
	st.prev, st.next = q.last, nil
	if q.last == nil {
		q.first = st
	} else {
		q.last.next = st
	}
	q.last = st
	q.n++
}

func (q *queue) pushFront(st *step) {
	st.prev, st.next = nil, q.first
	if q.first == nil {
		q.last = st
	} else {
		q.first.prev = st
	}
	q.first = st
	q.n++
}

func (q *queue) remove(st *step) {
	if st.prev == nil {
		q.first = st.next
	} else {
		st.prev.next = st.next
	}
	if st.next == nil {
		q.last = st.prev
	} else {
		st.next.prev = st.prev
	}
	st.prev, st.next = nil, nil
	q.n--
}
