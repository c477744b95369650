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
	waiting    stepState = iota // in the queue, or behind another one of its digest
	granted                     // its caller takes it by the store's own verb
	travelling                  // in a batch, which owns it
	answered                    // its answer is there
	givenUp                     // Close let it wait in vain
)

// step is one claim or settlement on its way. All but params, answer, outcome
// and done is guarded by the lane's mu; params and outcome are the caller's
// until it enters, answer is the batch's until done has spoken.
type step[P, A any] struct {
	params  P
	answer  A
	outcome []byte        // the memory of params' outcome, to be used again
	done    chan struct{} // of length 1: granted, answered or given up

	digest    semel.Digest
	state     stepState
	alone     bool  // it does not travel with others
	seated    bool  // it takes a place in the queue
	abandoned bool  // its caller has left; the batch recycles it
	lost      error // why it is unknown whether the batch took it
	turn      turn
	since     time.Time // when it began to wait

	before, after *step[P, A] // steps on the same digest; before is nil for the one whose turn it is
	prev, next    *step[P, A] // the queue's
}

// undecided keeps a store that was closed meanwhile from looking as if nothing
// had happened to a step that a lost batch may have taken.
func (st *step[P, A]) undecided(err error) error {
	if st.lost != nil && errors.Is(err, semel.ErrClosed) {
		return fmt.Errorf("groupcommit: the batch was lost: %w; then: %v", st.lost, err) //nolint:errorlint // not the outcome of the step.
	}
	return err
}

// queue is a list of steps of different digests, none of them under way.
type queue[P, A any] struct {
	first, last *step[P, A]
	n           int
}

func (q *queue[P, A]) pushBack(st *step[P, A]) {
	st.prev, st.next = q.last, nil
	if q.last == nil {
		q.first = st
	} else {
		q.last.next = st
	}
	q.last = st
	q.n++
}

func (q *queue[P, A]) pushFront(st *step[P, A]) {
	st.prev, st.next = nil, q.first
	if q.first == nil {
		q.last = st
	} else {
		q.first.prev = st
	}
	q.first = st
	q.n++
}

func (q *queue[P, A]) remove(st *step[P, A]) {
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
