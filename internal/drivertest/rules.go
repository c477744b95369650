package drivertest

import (
	"context"
	"errors"
	"fmt"
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

// retried gives a message back once.
func retried(b *bench) {
	const delay = 300 * time.Millisecond
	times := make(chan time.Time, 10)
	stop := b.consume(1, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		times <- time.Now()
		if len(times) == 1 {
			return inbox.Verdict{After: delay}
		}
		return b.handle(ctx, m)
	})
	messages := b.messages(1)
	b.publish(messages)
	b.wantEffects(messages)
	b.finish(stop)
	if n := len(times); n != 2 {
		b.Fatalf("the message was delivered %d times, want 2", n)
	}
	const precision = 5 * time.Millisecond // of a broker's clock
	if gap := -(<-times).Sub(<-times); gap < delay-precision {
		b.Errorf("the message came back after %v, want %v or later", gap, delay)
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
		published := make(chan struct{})
		go func() {
			defer close(published)
			b.persist(messages[i*size : (i+1)*size])
		}()
		quiet := b.proxy.Disturb()
		b.wantSome(i*size + 1)
		quiet()
		<-published
	}
	b.wantEffects(messages)
	b.finish(stop)
}

// wantSome waits a moment for so many effects, so that what is broken is broken in the middle.
func (b *bench) wantSome(n int) {
	const moment = 500 * time.Millisecond
	timer := time.NewTimer(moment)
	defer timer.Stop()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		b.mu.Lock()
		enough := len(b.effects) >= n
		b.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-ticker.C:
		case <-timer.C:
			return
		}
	}
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

// mismatched publishes a second body under one ID.
func mismatched(b *bench) {
	stop := b.consume(1, b.handle)
	messages := b.messages(1)
	b.publish(messages)
	b.wantEffects(messages)
	other := messages[0]
	other.Body = []byte("body of another message")
	b.publish([]outbox.Message{other})
	b.wantCopies(1)
	b.finish(stop)
	b.wantEffects(messages)
}

func anonymous(b *bench) {
	stop := b.consume(1, b.handle)
	b.driver.Anonymous(b, b.direct, b.topic)
	effects, copies := 0, 1
	if b.driver.Names {
		effects, copies = 1, 0
	}
	testserver.Eventually(b, "the message is handled or quarantined", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.effects) == effects && b.copies() == copies
	})
	b.finish(stop)
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
	published := make(chan struct{})
	go func() {
		defer close(published)
		b.persist(batch)
	}()
	for range 5 {
		quiet := b.proxy.Disturb()
		b.wantSome(1)
		quiet()
	}
	<-published
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

// stopped tells a consumer to stop while it handles a message, and publishes another one.
func stopped(b *bench) {
	begun, goOn := make(chan struct{}), make(chan struct{})
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
	messages := b.messages(2)
	b.publish(messages[:1])
	<-begun
	cancel()
	const moment = 300 * time.Millisecond
	select {
	case err := <-ended:
		close(goOn)
		b.Fatalf("the consumer ended, with error %v, while a handler runs", err)
	case <-time.After(moment):
	}
	b.publish(messages[1:])
	close(goOn)
	b.must(<-ended)
	b.wantEffects(messages[:1])
	stop := b.consume(1, b.handle)
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
		published := make(chan struct{})
		go func() {
			defer close(published)
			b.persist(messages[i*size : (i+1)*size])
		}()
		if i == 1 {
			b.wantSome(i*size + 1)
			server.Kill()
			server.Start()
		}
		<-published
	}
	b.wantEffects(messages)
	b.finish(stop)
}
