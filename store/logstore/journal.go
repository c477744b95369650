package logstore

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	maxBatchBytes = 32 << 20               // of entries that share a sync
	retryFull     = 100 * time.Millisecond // between attempts to make a segment on a full disk
)

// batch holds the entries that share a sync.
type batch struct {
	seg   *segment
	at    int64
	first uint64 // the number of its first entry
	buf   []byte
	err   error         // set before done is closed
	done  chan struct{} // closed when it is durable, or never will be
}

// durable reports whether the batch needs no more waiting.
func (b *batch) durable() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// journal adds entries to the log and syncs them: while one batch is being synced, the next one gathers.
type journal struct {
	disk     disk
	manifest *manifest // nil until it was opened
	name     string    // the directory, for errors
	bytes    int64     // of every segment; 0 means that they grow
	maxBytes int64     // of all segments; 0 means no bound
	window   [maxSegments]atomic.Pointer[segment]
	rolled   chan struct{} // a segment was begun
	running  sync.WaitGroup

	mu        sync.Mutex // guards the fields below
	work      sync.Cond
	number    uint64 // of the last entry
	fence     uint64 // the last that was drawn
	clock     int64  // the latest in an entry
	oldest    uint64 // number of the first segment
	total     int64  // bytes of all segments
	current   *segment
	next      *segment
	batch     *batch
	queue     []*batch // before batch, of former segments
	spare     []byte
	preparing chan struct{} // closed when next is there or cannot be; nil when it is not being made
	full      error         // why it could not be made
	fullAt    time.Time
	closing   bool
	dead      error // why the log ended
}

// begin starts to sync.
func (j *journal) begin() {
	j.work.L = &j.mu
	j.rolled = make(chan struct{}, 1)
	j.batch = j.newBatch()
	j.running.Go(j.syncBatches)
}

func (j *journal) newBatch() *batch {
	b := &batch{seg: j.current, at: j.current.used, buf: j.spare[:0], done: make(chan struct{})}
	j.spare = nil
	return b
}

// added says where an entry is and what makes it durable. When ready is set nothing was added, and the caller tries
// again when it is closed.
type added struct {
	place place
	batch *batch
	ready <-chan struct{}
}

// purpose says for whom an entry is added, and so how much of the last room it may take.
type purpose uint8

const (
	forClaim  purpose = iota // a new claim, which draws a fence
	forHolder                // a change of a claim that is held
	forExpiry                // what makes room, and marks
)

// add adds an entry to the next batch; a new claim gets a fence. Fences grow in the order of the log.
func (j *journal) add(e *entry, why purpose) (added, error) {
	size := padded(e.size())
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dead != nil {
		return added{}, j.dead
	}
	if ready, err := j.room(e, size, why); ready != nil || err != nil {
		return added{ready: ready}, err
	}
	if why == forClaim {
		j.fence++
		e.fence = j.fence
	}
	j.number++
	j.clock = max(j.clock, e.clock)
	e.number = j.number
	b := j.batch
	if len(b.buf) == 0 {
		b.first = j.number
		j.work.Signal()
	}
	e.back = uint32(e.number - b.first) //nolint:gosec // maxBatchBytes.
	at := j.current.used
	b.buf = e.encode(b.buf, j.current.salt)
	j.current.noteEntry(e, at, size)
	if j.next == nil && j.current.used > j.current.bytes/2 {
		_, _ = j.prepare(0) // ahead; an entry that finds no room says why
	}
	return added{place: j.current.placeOf(at), batch: b}, nil
}

// room makes room for an entry, or returns what to wait for.
func (j *journal) room(e *entry, size int, why purpose) (<-chan struct{}, error) {
	switch {
	case len(j.batch.buf) > 0 && len(j.batch.buf)+size > maxBatchBytes:
		return j.batch.done, nil
	case j.maxBytes > 0 && j.free()-int64(size) < j.kept(e, why):
		return nil, j.atBound()
	}
	left := j.current.bytes - j.current.used - int64(size)
	if j.next == nil {
		left -= j.reserve(e)
	}
	if left >= 0 {
		return nil, nil
	}
	if j.next != nil && j.next.bytes-segmentHeader >= int64(size) {
		j.roll()
		return nil, nil
	}
	return j.prepare(int64(size))
}

// reserve keeps the end of the last segment for those that hold claims: on a full disk new intents are refused first,
// then answers, and claims can still be settled without one. The very end is for the marks of an expiry, which makes room.
func (j *journal) reserve(e *entry) int64 {
	switch {
	case e.kind == kindMark:
		return 0
	case e.kind != kindRecord:
	case e.state == semel.StateClaimed:
		return j.current.bytes / 16
	case len(e.outcome) > 0:
		return j.current.bytes / 32
	}
	return j.current.bytes / 128
}

// free returns how many bytes the log may still add below its bound.
func (j *journal) free() int64 {
	free := j.current.bytes - j.current.used
	if j.next != nil {
		free += j.next.bytes - segmentHeader
	}
	segment := j.nextBytes(0)
	return free + max(0, j.maxBytes-j.total)/segment*(segment-segmentHeader) // as much as when they are there
}

// kept returns how many bytes below the bound are not for this entry. The last segment is for copies of live records,
// because an expiry that cannot copy makes no room; before it, a quarter of a segment is for those that hold claims.
func (j *journal) kept(e *entry, why purpose) int64 {
	segment := j.nextBytes(0)
	switch {
	case why == forExpiry:
		return 0
	case why == forClaim:
		return segment + segment/4
	case len(e.outcome) > 0:
		return segment
	}
	return segment - segment/8
}

func (j *journal) atBound() error {
	return fmt.Errorf("logstore: %s: %w: the log has reached its bound of %d bytes (raise Options.MaxBytes, or semel_max_bytes in the DSN, or shorten the retention)",
		j.name, semel.ErrFull, j.maxBytes)
}

// roll begins the next segment.
func (j *journal) roll() {
	if len(j.batch.buf) > 0 {
		j.queue = append(j.queue, j.batch)
	} else {
		j.spare = j.batch.buf
	}
	j.current, j.next = j.next, nil
	j.batch = j.newBatch()
	select {
	case j.rolled <- struct{}{}:
	default:
	}
}

// prepare makes the next segment, in which an entry of this size fits, in the background, and returns what to wait for.
func (j *journal) prepare(size int64) (<-chan struct{}, error) {
	if j.preparing != nil {
		return j.preparing, nil
	}
	if j.full != nil && time.Since(j.fullAt) < retryFull {
		return nil, j.full
	}
	bytes := j.nextBytes(size)
	if err := j.fits(bytes); err != nil {
		j.full, j.fullAt = err, time.Now()
		return nil, err
	}
	if s := j.next; s != nil { // too small for what came; its file is replaced, so nothing must go there any more
		j.next = nil
		j.total -= s.bytes
		j.window[s.number%maxSegments].Store(nil)
		_ = s.f.Close() // it holds nothing
	}
	j.preparing = make(chan struct{})
	s := segment{number: j.current.number + 1, bytes: bytes, fence: j.fence, clock: j.clock}
	j.running.Go(func() { j.makeNext(s) })
	return j.preparing, nil
}

// nextBytes returns the size of the next segment, in which an entry of this size fits. Segments grow, but to no more than
// an eighth of a bound, because they expire as a whole.
func (j *journal) nextBytes(size int64) int64 {
	bytes := j.bytes
	if bytes == 0 {
		bytes = min(maxSegment, 2*j.current.bytes)
		if j.maxBytes > 0 {
			bytes = min(bytes, max(firstSegment, j.maxBytes/8&^(segmentHeader-1)))
		}
	}
	for bytes < maxSegment && bytes-segmentHeader < size {
		bytes *= 2
	}
	return min(bytes, maxSegment)
}

// fits refuses a segment beyond the bounds of the log.
func (j *journal) fits(bytes int64) error {
	switch {
	case j.current.number+2-j.oldest >= maxSegments:
		return fmt.Errorf("logstore: %s: %w: the log has %d segments (shorten the retention)", j.name, semel.ErrFull, maxSegments)
	case j.maxBytes > 0 && j.total+bytes > j.maxBytes:
		return j.atBound()
	}
	return nil
}

// create makes a segment, and lists it before anything is added.
func (j *journal) create(s segment) (*segment, error) {
	made, err := createSegment(j.disk, s)
	if err != nil {
		return nil, err
	}
	if err := j.manifest.setLast(s.number); err != nil {
		return nil, errors.Join(err, made.f.Close())
	}
	return made, nil
}

func (j *journal) makeNext(s segment) {
	made, err := j.create(s)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.full = fmt.Errorf("logstore: %w: %s: %w (free space on the disk)", semel.ErrFull, j.name, err)
		j.fullAt = time.Now()
	} else {
		j.full, j.next = nil, made
		j.total += made.bytes
		j.window[made.number%maxSegments].Store(made)
	}
	close(j.preparing)
	j.preparing = nil
}

// syncBatches syncs batch after batch, in order, one at a time: what is not synced is always one batch, the last.
func (j *journal) syncBatches() {
	for b := j.nextBatch(); b != nil; b = j.nextBatch() {
		_, err := b.seg.f.WriteAt(b.buf, b.at)
		if err == nil {
			err = b.seg.f.sync()
		}
		if err != nil {
			b.err = j.die(fmt.Errorf("logstore: %s: write the log: %w (it accepts nothing more, because it is unknown how much of it is on the disk: "+
				"repair what the error names, and start this program again)", j.name, err))
		}
		close(b.done)
		j.mu.Lock()
		j.spare, b.buf = b.buf, nil
		j.mu.Unlock()
		runtime.Gosched() // those that waited add what they do next: fewer, larger syncs
	}
}

// nextBatch waits for the next batch; nil ends the loop.
func (j *journal) nextBatch() *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.queue) == 0 && len(j.batch.buf) == 0 && !j.closing && j.dead == nil {
		j.work.Wait()
	}
	switch {
	case j.dead != nil:
		return nil
	case len(j.queue) > 0:
		b := j.queue[0]
		j.queue = j.queue[1:]
		return b
	case len(j.batch.buf) > 0:
		b := j.batch
		j.batch = j.newBatch()
		return b
	}
	return nil
}

// die refuses every further entry and fails those that wait.
func (j *journal) die(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dead != nil {
		return j.dead
	}
	err = verb.Refused(err)
	j.dead = err
	for _, b := range append(j.queue, j.batch) {
		b.err = err
		close(b.done)
	}
	j.queue = nil
	return err
}

// ended returns why the log ended, or nil.
func (j *journal) ended() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dead
}

// close syncs the remaining entries, marks the log as complete, and waits.
func (j *journal) close(clock int64) error {
	a, err := j.add(&entry{kind: kindMark, clock: clock}, forExpiry)
	if err == nil && a.batch != nil {
		<-a.batch.done
		err = a.batch.err
	}
	j.mu.Lock()
	j.closing = true
	j.work.Signal()
	j.mu.Unlock()
	j.running.Wait()
	for i := range j.window {
		if s := j.window[i].Load(); s != nil {
			err = errors.Join(err, s.f.Close())
		}
	}
	return errors.Join(err, j.manifest.f.Close())
}

// read returns the entry at a place.
func (j *journal) read(p place) (entry, error) {
	s := j.window[p.segment()].Load()
	if s == nil {
		return entry{}, fmt.Errorf("logstore: %s: segment %d of the log is missing", j.name, p.segment())
	}
	e, err := s.read(p.offset())
	if err != nil {
		err = fmt.Errorf("logstore: %s: %w (stop this program and run: semel records check --store log:%s)", j.name, err, j.name)
	}
	return e, err
}
