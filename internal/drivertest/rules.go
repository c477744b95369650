package drivertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
)

// once publishes every message twice.
func once(b *bench) {
	messages := b.messages(100)
	stop := b.consume(4, b.handle)
	b.publish(messages)
	b.publish(messages)
	b.wantEffects(messages)
	b.finish(stop)
	b.wantEffects(messages)
}

// retried gives one message back for an hour, and the others back for a moment, again and again.
func retried(b *bench) {
	const times = 3
	var mu sync.Mutex // guards the variables below
	late, given := "", map[string]int{}
	b.consume(2, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		mu.Lock()
		defer mu.Unlock()
		late = cmp.Or(late, m.ID)
		given[m.ID]++
		switch {
		case m.ID == late:
			return inbox.Verdict{After: time.Hour}
		case given[m.ID] <= times:
			return inbox.Verdict{}
		}
		return b.handle(ctx, m)
	})
	var messages []outbox.Message
	for i := range 8 { // of several keys, because a partition waits for a message that is given back
		messages = append(messages, b.message(fmt.Sprint("m", i), fmt.Sprint("key ", i)))
	}
	b.publish(messages)
	b.wantSome(1)
	mu.Lock()
	defer mu.Unlock()
	if given[late] != 1 {
		b.Errorf("a message was delivered %d times within an hour in which it was not to come again", given[late])
	}
}

// cutOff lets the broker lose sight of a consumer that handles a message.
func cutOff(b *bench) {
	begun, goOn := make(chan struct{}, 100), make(chan struct{})
	b.consume(1, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return b.inbox.Handle(ctx, m, func(ctx context.Context, m inbox.Message) error {
			begun <- struct{}{}
			<-goOn
			return b.effect(ctx, m)
		})
	})
	messages := b.messages(1)
	b.publish(messages)
	<-begun
	b.proxy.Down()
	deliveries := make(chan int, 1000)
	stop := b.consumeFrom(b.direct, 1, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		v := b.handle(ctx, m)
		deliveries <- m.Deliveries
		return v
	})
	if n := <-deliveries; n == 1 {
		b.Error("a message that was delivered before counts one delivery")
	}
	close(goOn)
	b.wantEffects(messages)
	b.finish(stop)
	b.wantEffects(messages)
	b.proxy.Up()
}

// disturbed breaks connections while messages are published and handled.
func disturbed(b *bench) {
	const batches, size = 5, 40
	messages := b.messages(batches * size)
	stop := b.consume(4, b.handle)
	b.publish(messages[:1])
	b.wantEffects(messages[:1]) // the consumer is connected
	for i := range batches {
		published := b.persisting(messages[i*size : (i+1)*size])
		b.wantSome(i*size + 1)
		b.disturb(func() bool { return b.count() >= (i+1)*size })
		b.wantClosed(published)
	}
	b.wantEffects(messages)
	b.finish(stop)
}

// disturb breaks connections until one was broken, or all is done.
func (b *bench) disturb(done func() bool) {
	before := b.proxy.Broken()
	quiet := b.proxy.Disturb()
	testserver.Eventually(b, "a connection is broken", func() bool { return b.proxy.Broken() > before || done() })
	quiet()
}

// quarantined has a handler that refuses every message for good.
func quarantined(b *bench) {
	var handled atomic.Int32
	stop := b.consume(1, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return b.inbox.Handle(ctx, m, func(context.Context, inbox.Message) error {
			handled.Add(1)
			return semel.MarkFinal(errors.New("no such customer"))
		})
	})
	messages := b.messages(3)
	b.publish(messages)
	b.wantCopies(len(messages))
	b.finish(stop)
	if got := int(handled.Load()); got != len(messages) {
		b.Errorf("%d messages were handled %d times", len(messages), got)
	}
}

// ordered publishes the messages of three keys while connections break, again until all have arrived.
func ordered(b *bench) {
	const perKey = 15
	var batch []outbox.Message
	for _, key := range []string{"a", "b", "c", ""} {
		for i := range perKey {
			batch = append(batch, b.message(fmt.Sprint(key, i), key))
		}
	}
	published := b.persisting(batch)
	for range 5 {
		b.disturb(func() bool {
			select {
			case <-published:
				return true
			default:
				return false
			}
		})
	}
	b.wantClosed(published)
	b.consume(1, b.handle)
	b.wantEffects(batch)
	b.wantOrder(batch)
}

// refused has the broker refuse one message of a batch.
func refused(b *bench) {
	bad := b.message("bad", "a")
	bad.Topic = b.driver.Refused
	late := b.message("late", "a")
	good := []outbox.Message{b.message("first", "a"), b.message("other key", "b"), b.message("no key", "")}
	for i, err := range b.try([]outbox.Message{good[0], bad, late, good[1], good[2]}) {
		if failed, want := err != nil, i == 1 || i == 2; failed != want {
			b.Errorf("message %d of the batch: error %v, want one: %v", i, err, want)
		}
	}
	stop := b.consume(1, b.handle)
	b.wantEffects(good)
	b.finish(stop)
	b.wantEffects(good)
}

// reserved publishes messages whose headers would be read as Semel's, or as the broker's.
func reserved(b *bench) {
	for _, name := range append(b.driver.Reserved, "Semel-Id", "semel-key", "SEMEL-ANY") {
		batch := []outbox.Message{b.message(name+" before", ""), b.message("bad", "a"), b.message("late", "a"), b.message(name+" after", "")}
		batch[1].Header[name] = "1"
		errs := b.try(batch)
		if len(errs) != len(batch) || errs[0] != nil || errs[1] == nil || errs[2] == nil || errs[3] != nil {
			b.Errorf("header %s: got errors %v, want one for the message that has it, and the next one of its key", name, errs)
		} else if !strings.Contains(errs[1].Error(), "reserved") || fmt.Sprintf("%T", errs[1]) != fmt.Sprintf("%T", outbox.Permanent(errs[1])) {
			b.Errorf("header %s: got error %v, want one for good", name, errs[1])
		}
	}
}

func unreachable(b *bench) {
	messages := b.messages(10)
	b.publish(messages[:1])
	b.proxy.Down()
	for i, err := range b.try(messages[1:]) {
		if err == nil {
			b.Errorf("message %d: no error from a broker that cannot be reached", i)
		}
	}
	b.proxy.Up()
	b.persist(messages)
	stop := b.consume(1, b.handle)
	b.wantEffects(messages)
	b.finish(stop)
}

// unacknowledged loses what the broker answers.
func unacknowledged(b *bench) {
	messages := b.messages(10)
	b.publish(messages[:1])
	b.proxy.LoseReplies()
	errs := b.try(messages[1:])
	if errs == nil {
		b.Fatal("no error without an acknowledgement")
	}
	for i, err := range errs {
		if err == nil {
			b.Errorf("message %d: no error without an acknowledgement", i)
		}
	}
	b.proxy.Clear()
	b.persist(messages)
	stop := b.consume(1, b.handle)
	b.wantEffects(messages)
	b.finish(stop)
}

// stopped tells a consumer to stop while it handles a message, and publishes others.
func stopped(b *bench) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	first := make(chan struct{}, 1)
	first <- struct{}{}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- b.driver.Consume(ctx, b.proxy.Addr(), b.topic, 2, func(ctx context.Context, m inbox.Message) inbox.Verdict {
			select {
			case <-first:
				begun <- struct{}{}
				<-goOn
			default:
				b.Error("a message is handled after the consumer has to stop")
			}
			return b.handle(context.WithoutCancel(ctx), m)
		})
	}()
	messages := b.messages(1)
	b.publish(messages)
	<-begun
	cancel()
	for i := range 24 { // of several keys: another consumer may get some partitions only
		messages = append(messages, b.message(fmt.Sprint("later", i), fmt.Sprint("key ", i)))
	}
	b.publish(messages[1:])
	var delivered atomic.Int32
	stop := b.consumeFrom(b.direct, 1, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		delivered.Add(1)
		return b.handle(ctx, m)
	})
	// By now, a consumer that does not wait would have ended.
	testserver.Eventually(b, "another consumer gets a message", func() bool { return delivered.Load() > 0 })
	select {
	case err := <-ended:
		b.Fatalf("the consumer ended, with error %v, while a handler runs", err)
	default:
	}
	release()
	b.must(<-ended)
	b.wantEffects(messages)
	b.finish(stop)
}

// restarted kills the broker while messages are published and handled.
func restarted(b *bench, server Server) {
	const batches, size = 3, 50
	messages := b.messages(batches * size)
	stop := b.consume(4, b.handle)
	b.publish(messages[:1])
	b.wantEffects(messages[:1]) // the consumer is connected
	for i := range batches {
		published := b.persisting(messages[i*size : (i+1)*size])
		if i == 1 {
			b.wantSome(i*size + 1)
			server.Kill()
			server.Start()
		}
		b.wantClosed(published)
	}
	b.wantEffects(messages)
	b.finish(stop)
}
