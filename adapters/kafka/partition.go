package kafka

import (
	"context"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/internal/wire"
)

// partition handles the records of a partition in their order, from its assignment to its end.
type partition struct {
	in     *consumption
	client *kgo.Client
	name   partitionName
	ctx    context.Context //nolint:containedctx // the life of the assignment.
	stop   context.CancelFunc
	ended  chan struct{} // closed when no handler runs any more
	more   chan struct{} // holds one when queue has grown

	mu        sync.Mutex // guards the fields below
	queue     []*kgo.Record
	paused    bool // it is not fetched, because the queue is long
	abandoned bool // another consumer may have it: no verdict counts
}

// start begins to handle a partition that was assigned.
func (c *consumption) start(client *kgo.Client, name partitionName) *partition {
	p := &partition{in: c, client: client, name: name, ended: make(chan struct{}), more: make(chan struct{}, 1)}
	p.ctx, p.stop = context.WithCancel(c.ctx)
	p.fetch() // an earlier assignment may have paused it
	p.in.running.Go(p.handleRecords)
	return p
}

// push appends what was read.
func (p *partition) push(records []*kgo.Record) {
	p.mu.Lock()
	p.queue = append(p.queue, records...)
	long := len(p.queue) >= mostQueued && !p.paused
	p.paused = p.paused || long
	p.mu.Unlock()
	if long {
		p.client.PauseFetchPartitions(map[string][]int32{p.name.topic: {p.name.partition}})
	}
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// next returns the next record, or nil when the partition has been taken away.
func (p *partition) next() *kgo.Record {
	for {
		p.mu.Lock()
		var r *kgo.Record
		if len(p.queue) > 0 {
			r, p.queue = p.queue[0], p.queue[1:]
		}
		short := p.paused && len(p.queue) < mostQueued/2
		p.paused = p.paused && !short
		p.mu.Unlock()
		if short {
			p.fetch()
		}
		if r != nil {
			return r
		}
		select {
		case <-p.more:
		case <-p.ctx.Done():
			return nil
		}
	}
}

func (p *partition) fetch() {
	p.client.ResumeFetchPartitions(map[string][]int32{p.name.topic: {p.name.partition}})
}

func (p *partition) handleRecords() {
	defer close(p.ended)
	defer p.stop()
	for n := 0; ; n++ {
		r := p.next()
		if r == nil || !p.settle(r, n) {
			return
		}
		if n%window == window-1 && !p.committed() {
			return
		}
	}
}

// settle handles a record, the one with this number since the assignment, until it has a verdict. It reports whether to go on.
func (p *partition) settle(r *kgo.Record, n int) bool {
	m := received(r, p.in.id(r))
	m.Deliveries = 1
	if n <= window {
		m.Deliveries = 2
	}
	for {
		v, ok := p.verdict(m)
		switch {
		case !ok:
			return false
		case v.Act != inbox.Retry:
			return p.mark(r)
		}
		waiting.Sleep(p.ctx, max(v.After, leastDelay))
		m.Deliveries++
	}
}

// verdict has a record handled when there is a slot.
func (p *partition) verdict(m inbox.Message) (v inbox.Verdict, ok bool) {
	select {
	case p.in.slots <- struct{}{}:
	case <-p.ctx.Done():
		return v, false
	}
	defer func() { <-p.in.slots }()
	if p.ctx.Err() != nil {
		return v, false
	}
	return p.in.handle(p.ctx, m), true
}

// mark lets the offset behind the record be committed, unless another consumer may have the partition.
func (p *partition) mark(r *kgo.Record) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.abandoned {
		p.client.MarkCommitRecords(r)
	}
	return !p.abandoned
}

// abandon lets no later verdict count.
func (p *partition) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandoned = true
}

// committed commits what was handled, however long that takes, so that a consumer that gets the partition knows how much of it may
// have been handled. It reports whether to go on.
func (p *partition) committed() bool {
	for p.ctx.Err() == nil {
		if err := p.client.CommitMarkedOffsets(p.ctx); err == nil {
			return true
		}
		waiting.Sleep(p.ctx, errorPause)
	}
	return false
}

// received returns a record as the inbox takes it.
func received(r *kgo.Record, id string) inbox.Message {
	values := wire.Values{First: make(map[string]string, len(r.Headers))}
	for _, h := range r.Headers {
		values.Add(h.Key, string(h.Value))
	}
	m := inbox.Message{ID: id, Subject: r.Topic, Key: r.Key, Body: r.Value, Header: values.First, Repeated: values.Repeated}
	if r.Timestamp.UnixMilli() > 0 { // -1 for none
		m.Time = wire.Time(r.Timestamp)
	}
	return m
}

// idOf names a record by its headers, else by its place.
func idOf(r *kgo.Record) string {
	for _, name := range []string{IDHeader, plainIDHeader} {
		for _, h := range r.Headers {
			if h.Key == name && len(h.Value) > 0 {
				return string(h.Value)
			}
		}
	}
	return fmt.Sprintf("%s/%d/%d/%d", r.Topic, r.Partition, r.Offset, r.Timestamp.UnixMilli())
}
