package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/redisstore"
)

const aimRedis = 0.8

// benchRedis compares claim and settle with two commands that store as much, through the same client.
func benchRedis(ctx context.Context, s *settings) (*table, error) {
	address := os.Getenv("SEMEL_TEST_REDIS")
	if address == "" {
		return nil, fmt.Errorf("SEMEL_TEST_REDIS: %w", errNoServer)
	}
	var w wire
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{address}, DisableCache: true,
		DialCtxFn: func(ctx context.Context, dst string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return w.dial(ctx, "tcp", dst)
		},
	})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	prefix := "bench-" + rand.Text()[:8]
	store, err := redisstore.New(client, &redisstore.Options{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	body := string(bytes.Repeat([]byte{'x'}, rowBytes))
	k := &keys{prefix: prefix}
	cycles := newCycler(store, prefix, manyCallers)
	grouped, err := groupcommit.New(store, nil)
	if err != nil {
		return nil, err
	}
	defer shut(grouped) // and store
	shipped := newCycler(grouped, prefix+"g", manyCallers)
	meter := func(context.Context) ([]counter, error) {
		return []counter{{Name: "writes", Value: float64(w.writes.Load())}, {Name: "bytes sent", Value: float64(w.bytes.Load())}}, nil
	}
	set := func(ctx context.Context, key string) error {
		return client.Do(ctx, client.B().Set().Key(key).Value(body).Px(time.Minute).Build()).Error()
	}
	t := &table{Title: fmt.Sprintf("Redis: %d callers, one client, %d bytes", manyCallers, rowBytes)}
	err = (&contest{Callers: manyCallers, Meter: meter, Entries: []entry{
		{Name: "two SETs", One: func(ctx context.Context) error {
			key := k.next().Name
			if err := set(ctx, key); err != nil {
				return err
			}
			return set(ctx, key)
		}},
		{Name: "claim + settle", One: cycles.one, Rival: "two SETs"},
		{Name: "claim + settle, as shipped: group commit", One: shipped.one, Rival: "two SETs", Aim: aimRedis},
	}}).Run(ctx, s, t)
	if err != nil {
		return nil, err
	}
	if err := set(ctx, prefix+"read"); err != nil {
		return nil, err
	}
	return t, replays(ctx, s, t, store, meter, "GET", func(ctx context.Context) error {
		return client.Do(ctx, client.B().Get().Key(prefix+"read").Build()).Error()
	})
}
