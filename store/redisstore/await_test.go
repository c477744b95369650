package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

const lease, retention = claimtest.Lease, claimtest.Retention

var (
	params, by, completed, wins         = claimtest.Params, claimtest.By, claimtest.Completed, claimtest.Wins
	settles, noError, closes, wantWords = claimtest.Settles, claimtest.NoError, claimtest.Closes, claimtest.Words
	lists, wantFound, wantErr           = claimtest.Lists, claimtest.WantFound, claimtest.WantErr
)

// await starts an Await and returns when the claim is marked as waited for.
func await(tb testing.TB, s *redisstore.Store, d semel.Digest, marked func() bool) <-chan error {
	tb.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Await(tb.Context(), d) }()
	testserver.Eventually(tb, "the claim is marked as waited for", marked)
	return done
}

// raw is a connection to the server that bypasses the store.
type raw struct {
	tb     testing.TB
	client rueidis.Client
}

func (p place) raw(tb testing.TB) raw {
	tb.Helper()
	return rawClient(tb, p.addrs(tb)...)
}

func rawClient(tb testing.TB, addrs ...string) raw {
	tb.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, ForceSingleClient: len(addrs) == 1, DisableCache: true})
	noError(tb, err)
	tb.Cleanup(client.Close)
	return raw{tb, client}
}

func (r raw) do(words ...string) rueidis.RedisResult {
	return r.client.Do(r.tb.Context(), r.client.B().Arbitrary(words...).Build())
}

// record is the value that the server has for the digest; empty when absent.
func (r raw) record(s *redisstore.Store, d semel.Digest) string {
	r.tb.Helper()
	v, err := r.client.Do(r.tb.Context(), r.client.B().Get().Key(redisstore.Key(s, d)).Build()).ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		r.tb.Fatal(err)
	}
	return v
}

// marked reports whether a caller waits for the claim.
func (r raw) marked(s *redisstore.Store, d semel.Digest) func() bool {
	return func() bool {
		v := r.record(s, d)
		return len(v) > 33 && v[33] == 'w'
	}
}

func places() map[string]place { return map[string]place{"single": single, "cluster": cluster} }

// A settlement that comes together with the wait is not missed.
func TestAwaitRace(t *testing.T) {
	t.Parallel()
	dsn := single.dsn(t)
	here, there := open(t, dsn, nil), open(t, dsn, nil)
	for range 300 {
		rec := wins(t, there, params("k"))
		done := make(chan error, 1)
		go func() { done <- here.Await(t.Context(), rec.Digest) }()
		settles(t, there, rec, semel.Settlement{State: semel.StateReleased})
		noError(t, <-done)
	}
}

// A holder that dies settles nothing: the end of its lease ends the wait.
func TestAwaitReturnsWhenTheLeaseEnds(t *testing.T) {
	t.Parallel()
	s := open(t, single.dsn(t), nil)
	p := params("k")
	p.Lease = 50 * time.Millisecond
	wins(t, s, p)
	noError(t, s.Await(t.Context(), p.Digest))
	rec, err := s.Lookup(t.Context(), p.Digest)
	if err != nil || !rec.Lapsed() {
		t.Errorf("lease left %v, error %v, want a lapsed claim", rec.LeaseLeft(), err)
	}
}

// A waiter outlives the claim that it marked: what is taken over stays marked.
func TestAwaitSurvivesATakeover(t *testing.T) {
	t.Parallel()
	clock := newHands()
	dsn := single.dsn(t)
	s := open(t, dsn, redisstore.WithClock(redisstore.Options{}, clock.ms.Load))
	rec := wins(t, s, params("k"))
	look := single.raw(t)
	done := await(t, s, rec.Digest, look.marked(s, rec.Digest))
	clock.Advance(lease)
	p := by(2, params("k"))
	p.TakeOver = rec.Fence
	next := wins(t, s, p)
	settles(t, s, next, completed("answer"))
	noError(t, <-done)
}

// Without waiters, nothing is published.
func TestNothingIsPublishedForNobody(t *testing.T) {
	t.Parallel()
	s := open(t, single.dsn(t), nil)
	heard := make(chan string, 16)
	ready := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	listener := single.raw(t).client
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx := rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) { close(ready) })
		_ = listener.Receive(ctx, listener.B().Subscribe().Channel(redisstore.Channel(s)).Build(), func(m rueidis.PubSubMessage) {
			heard <- m.Message
		})
	}()
	<-ready
	settles(t, s, wins(t, s, params("nobody waits")), completed("answer"))
	rec := wins(t, s, params("somebody waits"))
	done := await(t, s, rec.Digest, single.raw(t).marked(s, rec.Digest))
	settles(t, s, rec, completed("answer"))
	noError(t, <-done)
	if got, want := <-heard, redisstore.Key(s, rec.Digest); got != want {
		t.Errorf("the first message is about %q, want %q", got, want)
	}
	cancel()
	<-ended
}

// Await says that it cannot tell when the server goes away.
func TestAwaitOfALostServer(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, nil)
	s := open(t, "redis://"+server.Addr(), nil)
	rec := wins(t, s, params("k"))
	done := await(t, s, rec.Digest, rawClient(t, server.Addr()).marked(s, rec.Digest))
	server.Kill()
	if err := <-done; err == nil || errors.Is(err, semel.ErrClosed) {
		t.Errorf("got %v, want an error that wraps no sentinel", err)
	}
	if err := s.Await(t.Context(), rec.Digest); err == nil {
		t.Error("got nil while the server is down, want an error")
	}
	server.Start()
	testserver.Eventually(t, "Await works again", func() bool { return s.Await(t.Context(), rec.Digest) == nil }) // the claim was lost
}

// A client that the store does not own is left without a subscription.
func TestCloseUnsubscribes(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look := p.raw(t)
			s, err := redisstore.New(look.client, &redisstore.Options{Prefix: testserver.RedisPrefix(t, p.addrs(t)...)})
			noError(t, err)
			noError(t, s.Await(t.Context(), params("k").Digest))
			subscribers := func() int {
				n := 0
				for _, node := range look.client.Nodes() {
					counts, err := node.Do(t.Context(), node.B().PubsubNumsub().Channel(redisstore.Channel(s)).Build()).AsIntMap()
					noError(t, err)
					n += int(counts[redisstore.Channel(s)])
				}
				return n
			}
			if n := subscribers(); n != 1 {
				t.Errorf("%d subscriptions while the store is open, want 1", n)
			}
			noError(t, s.Close())
			if n := subscribers(); n != 0 {
				t.Errorf("%d subscriptions after Close, want 0", n)
			}
			if err := look.do("PING").Error(); err != nil {
				t.Errorf("the client must still work: %v", err)
			}
		})
	}
}
