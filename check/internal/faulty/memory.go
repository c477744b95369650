package faulty

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Memory stores the records. It outlives a door, as a database outlives the processes that use it. The zero value is
// empty. It is safe for concurrent use.
type Memory struct {
	retention time.Duration

	mu      sync.Mutex // guards the field below, and the fields of its records
	records map[string]*Record
}

// Record is the state of a key.
type Record struct {
	id    string
	asked string
	life  Life          // of the process that has the claim
	done  chan struct{} // closed when the claim ends
	// answer is set when done is closed; nil if nothing happened.
	answer *Answer
	ends   time.Time // zero until it is done
	// refused is for the mistake of treating a refusal as a success.
	refused atomic.Bool
}

// Claim takes the key if it is free, in one step. Otherwise it returns the record of its current or last holder.
func (m *Memory) Claim(life Life, id, asked string) (*Record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rec := m.find(id); rec != nil {
		return rec, false
	}
	return m.insert(life, id, asked), true
}

// find returns the record of a key that is still kept; the caller holds mu.
func (m *Memory) find(id string) *Record {
	rec := m.records[id]
	if rec != nil && !rec.ends.IsZero() && time.Now().After(rec.ends) {
		return nil
	}
	return rec
}

// insert makes a record; the caller holds mu.
func (m *Memory) insert(life Life, id, asked string) *Record {
	rec := &Record{id: id, asked: asked, life: life, done: make(chan struct{})}
	if m.records == nil {
		m.records = map[string]*Record{}
	}
	m.records[id] = rec
	return rec
}

// Settle ends a claim with its answer or, if that is nil, as if it had never existed. A holder that lost the claim
// wakes its waiters, and changes nothing else.
func (m *Memory) Settle(rec *Record, answer *Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !rec.ends.IsZero() {
		return
	}
	if answer == nil && m.records[rec.id] == rec {
		delete(m.records, rec.id)
	}
	rec.answer, rec.ends = answer, time.Now().Add(m.retention)
	close(rec.done)
}

func (m *Memory) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, id)
}

// await waits at most that long for the end of the claim. done is false if it is still running.
func (r *Record) await(ctx context.Context, most time.Duration) (answer *Answer, done bool) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-r.done:
		return r.answer, true
	default:
	}
	select {
	case <-r.done:
		return r.answer, true
	case <-r.life:
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil, false
}

// orphaned reports whether the process with the claim is gone.
func (r *Record) orphaned() bool {
	return !r.over() && r.life.over()
}

// Look is a SELECT: it returns the record of a key, or nil.
func (m *Memory) Look(id string) *Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(id)
}

func (m *Memory) insertOver(life Life, id, asked string) *Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.insert(life, id, asked)
}

// overwrite replaces the answer of any record.
func (m *Memory) overwrite(rec *Record, answer *Answer) {
	m.Settle(rec, answer)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[rec.id] = rec
}

// over reports whether the claim has ended.
func (r *Record) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
