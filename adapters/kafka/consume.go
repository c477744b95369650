package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/internal/wire"
)

const (
	// IDHeader is the header that names a record, unless ConsumeOptions.ID says otherwise.
	IDHeader = wire.IDHeader
	// plainIDHeader names records of other producers, such as Debezium's.
	plainIDHeader = "id"

	defaultConcurrency    = 8
	mostConcurrency       = 1 << 16
	defaultCommitInterval = time.Second

	// window bounds the records of a partition that were handled and are not committed. So many, and the one after them, may
	// have been handled before when a partition is assigned.
	window = 1000
	// mostPolled and mostQueued bound the records of one poll, and those of a partition that wait; a longer queue pauses it.
	mostPolled = 1000
	mostQueued = 1000

	// leastDelay of a Retry without one keeps a record from spinning.
	leastDelay = 100 * time.Millisecond
	// commitTimeout bounds the commit when a partition is given up, or Consume ends.
	commitTimeout = 10 * time.Second
	// errorPause follows an error of a poll; franz-go has repeated by then what can be repeated.
	errorPause = 250 * time.Millisecond
)

// Source names the topics that a consumer group reads.
type Source struct {
	Group  string
	Topics []string
	// Client holds the other options of the client: kgo.SeedBrokers, TLS, SASL, timeouts. Consume sets those of committing and
	// rebalancing. Where the group has no offset, it reads from the start of a partition, unless kgo.ConsumeResetOffset is here.
	Client []kgo.Opt
}

// ConsumeOptions are the options of [Consume]. Nil means all defaults.
type ConsumeOptions struct {
	// Concurrency bounds the partitions that are handled at once, at most 65536. Default: 8.
	// A handler that takes a second connection next to that of inbox.Inbox.HandleTx needs a larger pool: pgstore's has 4 by default.
	Concurrency int
	// CommitInterval is the time between two commits of offsets; what is read again after a crash, at most 1001 records of a partition,
	// the inbox recognises. Default: 1 s, at least 100 ms.
	CommitInterval time.Duration
	// ID names a record. Default: its header [IDHeader], else its header "id", else its place.
	ID func(*kgo.Record) string
	// Logger gets what goes wrong. Default: slog.Default().
	Logger *slog.Logger
}

// Consume gives each record of the source to handle. After Ack and Quarantine its offset may be committed; a Retry handles the
// record again after its delay, at least 100 ms, and the partition waits for that. Message.Deliveries is 2 or more for records that may
// have been handled before: the first 1001 of a partition after it was assigned, and those that were retried.
//
// A partition that is taken away is given up when its running handler has finished, within three quarters of the group's rebalance
// timeout. A handler that takes longer runs on while the next consumer reads its record: the inbox tells that one to wait.
//
// It returns nil when ctx has ended, the running handlers have finished, and offsets are committed. Handlers' contexts end with ctx and
// when the partition is taken away, so a handler that must not be interrupted detaches itself, as [inbox.Inbox.Handle] does. It goes on
// while the broker cannot be reached. It returns an error when the client cannot be made, a topic does not exist, or the broker refuses
// the client for its settings or rights: a session timeout out of bounds, a wrong password, a missing permission. What was handled is
// committed before.
func Consume(ctx context.Context, source Source, handle func(context.Context, inbox.Message) inbox.Verdict, o *ConsumeOptions) error {
	c, client, err := newConsumption(ctx, source, handle, o)
	if err != nil {
		return err
	}
	err = find(ctx, client, source, c.log)
	if err == nil {
		err = c.poll(ctx, client)
	}
	c.give(c.all(), 0)
	c.running.Wait() // for handlers of partitions that were taken away while they ran
	c.commit(ctx, client)
	client.CloseAllowingRebalance()
	return err
}

// consumption is one call of Consume.
type consumption struct {
	ctx    context.Context //nolint:containedctx // that of Consume, for partitions that are assigned later.
	handle func(context.Context, inbox.Message) inbox.Verdict
	id     func(*kgo.Record) string
	group  string
	slots  chan struct{} // one for each handler
	log    *slog.Logger

	running    sync.WaitGroup // of partitions, and of those that were taken away
	mu         sync.Mutex     // guards partitions
	partitions map[partitionName]*partition
}

// partitionName names a partition.
type partitionName struct {
	topic     string
	partition int32
}

func newConsumption(ctx context.Context, source Source, handle func(context.Context, inbox.Message) inbox.Verdict, o *ConsumeOptions) (*consumption, *kgo.Client, error) {
	o = cmp.Or(o, &ConsumeOptions{})
	switch {
	case source.Group == "" || len(source.Topics) == 0 || handle == nil:
		return nil, nil, errors.New("kafka: Consume needs a group, topics and a function that handles messages")
	case o.Concurrency < 0 || o.Concurrency > mostConcurrency:
		return nil, nil, fmt.Errorf("kafka: Concurrency is between 1 and %d", mostConcurrency)
	case o.CommitInterval < 0:
		return nil, nil, errors.New("kafka: CommitInterval is negative")
	}
	c := &consumption{
		ctx: ctx, handle: handle, id: o.ID, group: source.Group, slots: make(chan struct{}, cmp.Or(o.Concurrency, defaultConcurrency)),
		log: cmp.Or(o.Logger, slog.Default()).With(slog.String("group", source.Group)), partitions: map[partitionName]*partition{},
	}
	if c.id == nil {
		c.id = idOf
	}
	opts := append([]kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}, source.Client...)
	client, err := kgo.NewClient(append(opts,
		kgo.ConsumerGroup(source.Group), kgo.ConsumeTopics(source.Topics...),
		kgo.AutoCommitMarks(), kgo.AutoCommitInterval(cmp.Or(o.CommitInterval, defaultCommitInterval)),
		kgo.BlockRebalanceOnPoll(), kgo.OnPartitionsAssigned(c.assigned), kgo.OnPartitionsRevoked(c.revoked), kgo.OnPartitionsLost(c.lost),
	)...)
	if err != nil {
		return nil, nil, fmt.Errorf("kafka: make a client: %w", err)
	}
	if client.OptValue(kgo.ConsumeResetOffset) == any(kgo.NewOffset().AtCommitted()) {
		client.Close()
		return nil, nil, errors.New("kafka: a partition without a committed offset would never be read: give kgo.ConsumeResetOffset another offset, or leave it out")
	}
	return c, client, nil
}

// poll hands records to their partitions until ctx has ended, or the broker refuses the client.
func (c *consumption) poll(ctx context.Context, client *kgo.Client) (refusal error) {
	for ctx.Err() == nil {
		fetches := client.PollRecords(ctx, mostPolled)
		failed := false
		fetches.EachError(func(topic string, n int32, err error) {
			if ctx.Err() == nil {
				failed = true
				if final(err) {
					refusal = refused(fmt.Sprintf("read %s as group %s", cmp.Or(topic, "records"), c.group), err)
					return
				}
				c.log.LogAttrs(ctx, slog.LevelWarn, "kafka: records could not be read; trying again",
					slog.String("topic", topic), slog.Int("partition", int(n)), slog.Any("error", err))
			}
		})
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if at := c.at(partitionName{p.Topic, p.Partition}); at != nil {
				at.push(p.Records)
			}
		})
		client.AllowRebalance()
		if refusal != nil {
			return refusal
		}
		if failed {
			waiting.Sleep(ctx, errorPause)
		}
	}
	return nil
}

func (c *consumption) at(name partitionName) *partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.partitions[name]
}

// all returns the names of the partitions that this consumer has.
func (c *consumption) all() map[string][]int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[string][]int32{}
	for name := range c.partitions {
		names[name.topic] = append(names[name.topic], name.partition)
	}
	return names
}

func (c *consumption) assigned(_ context.Context, client *kgo.Client, names map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic, partitions := range names {
		for _, n := range partitions {
			name := partitionName{topic, n}
			c.partitions[name] = c.start(client, name)
		}
	}
}

// revoked commits what was handled of partitions that are taken away.
func (c *consumption) revoked(ctx context.Context, client *kgo.Client, names map[string][]int32) {
	limit, _ := client.OptValue(kgo.RebalanceTimeout).(time.Duration)
	c.give(names, limit*3/4)
	c.commit(ctx, client)
}

// lost gives up partitions that another consumer may have by now.
func (c *consumption) lost(_ context.Context, _ *kgo.Client, names map[string][]int32) {
	for _, p := range c.stopPartitions(names) {
		c.abandon(p)
	}
}

// abandon forgets a partition, of which no later verdict counts.
func (c *consumption) abandon(p *partition) {
	p.abandon()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.partitions[p.name] == p {
		delete(c.partitions, p.name)
	}
}

// stopPartitions tells partitions to end.
func (c *consumption) stopPartitions(names map[string][]int32) []*partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	var taken []*partition
	for topic, partitions := range names {
		for _, n := range partitions {
			if p := c.partitions[partitionName{topic, n}]; p != nil {
				p.stop()
				taken = append(taken, p)
			}
		}
	}
	return taken
}

// give waits until partitions have ended, at most for the time given, or until they have. Later verdicts do not count.
func (c *consumption) give(names map[string][]int32, limit time.Duration) {
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	for _, p := range c.stopPartitions(names) {
		select {
		case <-p.ended:
		case <-late:
			late = closed() // nor does any other partition get time
			c.log.LogAttrs(c.ctx, slog.LevelWarn, "kafka: a partition was taken away while its handler ran; another consumer reads the record again",
				slog.String("topic", p.name.topic), slog.Int("partition", int(p.name.partition)))
		}
		c.abandon(p)
	}
}

func closed() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}

// commit commits what was marked, now.
func (c *consumption) commit(ctx context.Context, client *kgo.Client) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	if err := client.CommitMarkedOffsets(ctx); err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "kafka: offsets could not be committed, and their records are read again", slog.Any("error", err))
	}
}
