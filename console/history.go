package console

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

const (
	// minutes bounds the history: one day.
	minutes = 24 * 60
	// fresh is the time for which counts are not read again.
	fresh = time.Second
)

// Counts hold the numbers of a process since it began.
type Counts struct {
	// Requests counts them by outcome.
	Requests map[outcomelog.Outcome]uint64
	// Settled counts attempts by the state in which they left the record.
	Settled map[string]uint64
	// Waited counts requests that waited for a running twin, and Lost claims that were lost while their request ran.
	Waited, Lost uint64
	// Claim is the time to decide about a request, and Settle that to record how it ended.
	Claim, Settle Latency
}

// Latency counts durations.
type Latency struct {
	// Bounds are in seconds, the smallest first.
	Bounds []float64
	// Counts has one number more than Bounds: those within each bound, and all.
	Counts []uint64
}

// History keeps the counts of each minute of a day, in memory. Make one with [NewHistory]. It is safe for concurrent use.
type History struct {
	read  func() Counts
	since time.Time

	mu     sync.Mutex // guards the fields below
	last   reading
	counts Counts               // of last
	points [minutes + 1]reading // a ring
	used   int                  // how many points were ever kept
	drawn  []chart              // not changed any more
	at     time.Time            // of the reading up to which they are drawn
}

// reading holds the counts at one time.
type reading struct {
	at            time.Time
	tally         tally
	claim, settle Latency
}

// tally is the part of the counts that pages show.
type tally struct {
	Executed uint64 `json:"executed"`
	// Stopped counts duplicates that did not run, with any answer.
	Stopped uint64 `json:"stopped"`
	Waited  uint64 `json:"waited"`
	Refused uint64 `json:"refused"`
	Unknown uint64 `json:"unknown"`
	Lost    uint64 `json:"lost"`
	// Records counts attempts that left a record, and Open those whose record is of unknown outcome.
	Records uint64 `json:"records"`
	Open    uint64 `json:"open"`
}

// NewHistory returns the history of what read counts. It calls read at most once a second, from any goroutine.
func NewHistory(read func() Counts) *History {
	h := &History{read: read, since: time.Now(), counts: read()}
	h.keep(measure(h.since, h.counts))
	return h
}

// Run keeps the counts of every minute until ctx ends. Without it, a reading is kept only when a page is shown.
func (h *History) Run(ctx context.Context) {
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-minute.C:
			h.now()
		}
	}
}

// now returns the counts of now, or of less than a second ago.
func (h *History) now() reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := time.Now()
	if at.Sub(h.last.at) < fresh {
		return h.last
	}
	h.counts = h.read()
	h.last = measure(at, h.counts)
	if at.Sub(h.points[(h.used-1)%len(h.points)].at) >= time.Minute-fresh {
		h.keep(h.last)
	}
	return h.last
}

// requests returns the latest counts of requests, which are not changed any more.
func (h *History) requests() map[outcomelog.Outcome]uint64 {
	h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts.Requests
}

func (h *History) keep(m reading) {
	h.last, h.points[h.used%len(h.points)] = m, m
	h.used++
}

// day returns the readings of the last day and now, the oldest first.
func (h *History) day() []reading {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []reading
	for i := max(0, h.used-len(h.points)); i < h.used; i++ {
		if m := h.points[i%len(h.points)]; now.at.Sub(m.at) <= minutes*time.Minute {
			all = append(all, m)
		}
	}
	if all[len(all)-1].at.Before(now.at) {
		all = append(all, now)
	}
	return all
}

// charts returns the charts of the last day, drawn once for each reading. The caller must not change them.
func (h *History) charts() []chart {
	day := h.day()
	now := day[len(day)-1].at
	h.mu.Lock()
	drawn, at := h.drawn, h.at
	h.mu.Unlock()
	if at.Equal(now) {
		return drawn
	}
	if drawn = nil; len(day) > 1 {
		all := columns(day)
		drawn = []chart{
			rates(all),
			latency(all, "claim", "Time to decide about a request, in ms", func(m *reading) Latency { return m.claim }),
			latency(all, "settle", "Time to record how it ended, in ms", func(m *reading) Latency { return m.settle }),
		}
	}
	h.mu.Lock()
	h.drawn, h.at = drawn, now
	h.mu.Unlock()
	return drawn
}

func measure(at time.Time, c Counts) reading {
	m := reading{at: at, claim: c.Claim, settle: c.Settle, tally: tally{
		Waited: c.Waited, Lost: c.Lost, Open: c.Settled[semel.StateUnknown.String()],
	}}
	for _, state := range []semel.State{semel.StateCompleted, semel.StateFailed, semel.StateCancelled, semel.StateUnknown} {
		m.tally.Records += c.Settled[state.String()]
	}
	for outcome, n := range c.Requests {
		if stopped(outcome) {
			m.tally.Stopped += n
		}
		switch meaning(outcome).class {
		case asRan:
			m.tally.Executed += n
		case asReplayed: // counted as stopped
		case asUnknown:
			m.tally.Unknown += n
		case asRefused:
			if !stopped(outcome) {
				m.tally.Refused += n
			}
		}
	}
	return m
}

// since returns what was counted after an earlier time.
func (l Latency) since(earlier Latency) Latency {
	part := Latency{Bounds: l.Bounds, Counts: make([]uint64, len(l.Counts))}
	for i := range part.Counts {
		part.Counts[i] = l.Counts[i]
		if i < len(earlier.Counts) {
			part.Counts[i] -= earlier.Counts[i]
		}
	}
	return part
}

// quantile estimates the seconds within which a part of the durations lie; NaN when there are none.
func (l Latency) quantile(part float64) float64 {
	if len(l.Counts) == 0 || l.Counts[len(l.Counts)-1] == 0 {
		return math.NaN()
	}
	rank := part * float64(l.Counts[len(l.Counts)-1])
	var below, least float64
	for i, bound := range l.Bounds {
		within := float64(l.Counts[i])
		if within >= rank && within > below {
			return least + (bound-least)*(rank-below)/(within-below)
		}
		below, least = within, bound
	}
	return least // more than the greatest bound
}

// Add adds what another one counted within the same bounds.
func (l *Latency) Add(other Latency) {
	if l.Counts == nil {
		l.Bounds, l.Counts = other.Bounds, make([]uint64, len(other.Counts))
	}
	for i := range min(len(l.Counts), len(other.Counts)) {
		l.Counts[i] += other.Counts[i]
	}
}
