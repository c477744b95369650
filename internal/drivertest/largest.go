package drivertest

import (
	"context"
	"fmt"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/memstore"
)

// largestBody is the default of outbox.Options.MaxBodyBytes.
const largestBody = 960_000

// Largest returns a message to the topic whose every part is as long as an outbox takes it.
func Largest(topic string) outbox.Message {
	m := outbox.Message{
		ID: strings.Repeat("i", outbox.MaxIDBytes), Topic: topic, Key: strings.Repeat("k", outbox.MaxKeyBytes), Header: map[string]string{},
		Body: []byte("body of " + strings.Repeat("x", largestBody-len("body of "))),
	}
	left := outbox.MaxHeaderBytes
	for i := range 63 {
		name := fmt.Sprintf("Name-%02d", i)
		m.Header[name] = ""
		left -= len(name)
	}
	name := "N" + strings.Repeat("a", 254)
	m.Header[name] = strings.Repeat("v", left-len(name))
	return m
}

// largest lets a relay publish the largest message.
func largest(b *bench) {
	b.topic += strings.Repeat("x", outbox.MaxTopicBytes-len(b.topic))
	b.left = b.driver.Make(b.T, b.direct, b.topic)
	m := Largest(b.topic)
	db, out, err := openOutbox(b.Context(), b.TempDir()+"/outbox.db")
	b.must(err)
	tx, err := db.BeginTx(b.Context(), nil)
	b.must(err)
	b.must(out.Add(b.Context(), tx, m))
	b.must(tx.Commit())
	guard, err := semel.New(memstore.New(nil), nil)
	b.must(err)
	defer func() { _ = guard.Close() }()
	relay, err := outbox.NewRelay(out, guard, b.publisher, nil)
	b.must(err)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	stop := b.consume(1, b.handle)
	b.wantEffects([]outbox.Message{m})
	cancel()
	b.must(<-ended)
	held, err := out.List(b.Context(), 0)
	if err != nil || len(held) > 0 {
		b.Errorf("got %+v, %v, want nothing stopped", held, err)
	}
	b.must(db.Close())
	b.finish(stop)
}
