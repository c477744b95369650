package outcomelog

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// repeatShards divides the keys, so that repetitions of different ones hardly wait for each other.
	repeatShards = 64
	// repeatsPerShard bounds the keys of a shard: 4,096 in all, about 3 MB. The key that was not repeated for the longest time goes first.
	repeatsPerShard = 64
	// repeatsShown bounds the repetitions of a key that are remembered one by one.
	repeatsShown = 20
)

// Repeats remembers the repetitions that one process has met: for each of the 4,096 keys that were repeated last, how many
// there were of each outcome, the first, and the last 20. It is in memory and ends with the process. Make one with [NewRepeats]. It is safe for
// concurrent use.
type Repeats struct {
	since time.Time
	// logged reads the repetitions that all processes have kept; nil for none.
	logged func(ctx context.Context, digest string) (Repetitions, error)
	shards [repeatShards]repeatShard
}

// repeatShard has the keys whose digests begin alike.
type repeatShard struct {
	mu   sync.Mutex // guards the fields below
	keys map[string]*repeated
	// The ends of the list of keys. The newest was repeated last.
	newest, oldest *repeated
}

// repeated has the repetitions of one key.
type repeated struct {
	key          string
	newer, older *repeated
	first        int64 // milliseconds
	counts       [len(repetitions)]uint32
	recent       [repeatsShown]repeat // a ring
	used         uint32               // how many were ever put into it
}

type repeat struct {
	at      int64
	outcome uint8 // its place in repetitions
	status  uint16
}

// repetitions are the outcomes of a request that came after another one of its key and did not run.
//
//nolint:gochecknoglobals // it is never changed.
var repetitions = [...]Outcome{Replayed, Merged, InFlight, Mismatch, Unknown, NotKept, Unreadable, Duplicate, Cancelled, Denied}

// NewRepeats returns a memory without repetitions.
func NewRepeats() *Repeats { return &Repeats{since: time.Now()} }

// Keep is a [Sink] for the events of requests that did not run. It returns at once. Other events are left out.
func (r *Repeats) Keep(_ context.Context, e Event) {
	outcome := slices.Index(repetitions[:], e.Outcome)
	if outcome < 0 || len(e.Key) < KeyDigits {
		return
	}
	s := r.shardOf(e.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().UnixMilli()
	of := s.keys[e.Key]
	if of == nil {
		of = s.add(e.Key, now)
	} else {
		s.unlink(of)
	}
	s.link(of)
	of.counts[outcome]++
	of.recent[of.used%repeatsShown] = repeat{now, uint8(outcome), uint16(e.Status)} //nolint:gosec // both are small.
	of.used++
}

// add makes room for a key that was not repeated lately.
func (s *repeatShard) add(key string, now int64) *repeated {
	if s.keys == nil {
		s.keys = map[string]*repeated{}
	}
	of := &repeated{}
	if len(s.keys) >= repeatsPerShard {
		of = s.oldest
		s.unlink(of)
		delete(s.keys, of.key)
	}
	*of = repeated{key: key, first: now}
	s.keys[key] = of
	return of
}

func (s *repeatShard) link(of *repeated) {
	of.older, of.newer = s.newest, nil
	if s.newest != nil {
		s.newest.newer = of
	} else {
		s.oldest = of
	}
	s.newest = of
}

func (s *repeatShard) unlink(of *repeated) {
	if of.newer != nil {
		of.newer.older = of.older
	} else {
		s.newest = of.older
	}
	if of.older != nil {
		of.older.newer = of.newer
	} else {
		s.oldest = of.newer
	}
}

// shardOf spreads by the first digits of a digest, which are random.
func (r *Repeats) shardOf(key string) *repeatShard {
	digit := func(c byte) int {
		if c >= 'a' {
			return int(c-'a') + 10
		}
		return int(c - '0')
	}
	return &r.shards[(digit(key[0])*4+digit(key[1])/4)%repeatShards]
}

// UseLog has [Repeats.All] read a log that keeps the repetitions of all processes. Call it before any other method.
func (r *Repeats) UseLog(read func(ctx context.Context, digest string) (Repetitions, error)) {
	r.logged = read
}

// All returns the repetitions of the key with this digest, in hexadecimal. They are those of all processes, and since is zero, if there is a
// log; without one, or with its error, they are those of this memory since then.
func (r *Repeats) All(ctx context.Context, digest string) (all Repetitions, since time.Time, err error) {
	if r.logged != nil {
		if all, err = r.logged(ctx, digest); err == nil {
			return all, time.Time{}, nil
		}
	}
	return r.Of(digest), r.since, err
}

// Repetitions belong to one key. The zero Repetitions has none.
type Repetitions struct {
	First, Last time.Time
	Counts      map[Outcome]int
	Recent      []Repetition // the last 20, the newest first
}

// Repetition is one of them.
type Repetition struct {
	At      time.Time
	Outcome Outcome
	Status  int // of the answer; 0 for none
}

// Of returns the repetitions of the key with this digest, in hexadecimal.
func (r *Repeats) Of(digest string) (all Repetitions) {
	if len(digest) < KeyDigits {
		return all
	}
	s := r.shardOf(digest)
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.keys[digest]; of != nil {
		all = of.all()
	}
	return all
}

// After returns the keys that were repeated at t or later, with all of their repetitions.
func (r *Repeats) After(t time.Time) map[string]Repetitions {
	found := map[string]Repetitions{}
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for of := s.newest; of != nil && of.last() >= t.UnixMilli(); of = of.older {
			found[of.key] = of.all()
		}
		s.mu.Unlock()
	}
	return found
}

// last is the time of the last repetition.
func (of *repeated) last() int64 { return of.recent[(of.used-1)%repeatsShown].at }

func (of *repeated) all() (all Repetitions) {
	all.First, all.Counts = time.UnixMilli(of.first).UTC(), map[Outcome]int{}
	for i, n := range of.counts {
		if n > 0 {
			all.Counts[repetitions[i]] = int(n)
		}
	}
	for i := range min(of.used, repeatsShown) {
		one := of.recent[(of.used-1-i)%repeatsShown]
		all.Recent = append(all.Recent, Repetition{time.UnixMilli(one.at).UTC(), repetitions[one.outcome], int(one.status)})
	}
	all.Last = all.Recent[0].At
	return all
}
