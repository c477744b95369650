package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

const (
	lease     = time.Hour
	retention = 24 * time.Hour
)

func params(name string) semel.ClaimParams {
	key := semel.Key{Scope: "redisstore", Name: name}
	return semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name, Fingerprint: semel.FingerprintOf(name),
		Owner: semel.Owner{1}, Lease: lease, Retention: retention,
	}
}

// by are the same parameters in the hands of another attempt.
func by(owner byte, p semel.ClaimParams) semel.ClaimParams {
	p.Owner = semel.Owner{owner}
	return p
}

func completed(outcome string) semel.Settlement {
	return semel.Settlement{State: semel.StateCompleted, Outcome: []byte(outcome), Kept: true, Retention: retention}
}

func claim(tb testing.TB, s semel.Store, p semel.ClaimParams) semel.Record {
	tb.Helper()
	rec, won, err := s.Claim(tb.Context(), p)
	if err != nil || !won {
		tb.Fatalf("claim %q: won %v, error %v, want it won", p.Name, won, err)
	}
	return rec
}

func settle(tb testing.TB, s semel.Store, rec semel.Record, to semel.Settlement) {
	tb.Helper()
	if err := s.Settle(tb.Context(), rec.Digest, rec.Fence, to); err != nil {
		tb.Fatalf("settle %q: %v", rec.Name, err)
	}
}

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
	if err != nil {
		tb.Fatal(err)
	}
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
		rec := claim(t, there, params("k"))
		done := make(chan error, 1)
		go func() { done <- here.Await(t.Context(), rec.Digest) }()
		settle(t, there, rec, semel.Settlement{State: semel.StateReleased})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// A holder that dies settles nothing: the end of its lease ends the wait.
func TestAwaitReturnsWhenTheLeaseEnds(t *testing.T) {
	t.Parallel()
	s := open(t, single.dsn(t), nil)
	p := params("k")
	p.Lease = 50 * time.Millisecond
	claim(t, s, p)
	if err := s.Await(t.Context(), p.Digest); err != nil {
		t.Fatal(err)
	}
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
	rec := claim(t, s, params("k"))
	look := single.raw(t)
	done := await(t, s, rec.Digest, look.marked(s, rec.Digest))
	clock.Advance(lease)
	p := by(2, params("k"))
	p.TakeOver = rec.Fence
	next := claim(t, s, p)
	settle(t, s, next, completed("answer"))
	if err := <-done; err != nil {
		t.Error(err)
	}
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
	settle(t, s, claim(t, s, params("nobody waits")), completed("answer"))
	rec := claim(t, s, params("somebody waits"))
	done := await(t, s, rec.Digest, single.raw(t).marked(s, rec.Digest))
	settle(t, s, rec, completed("answer"))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
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
	rec := claim(t, s, params("k"))
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
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Await(t.Context(), params("k").Digest); err != nil {
				t.Fatal(err)
			}
			subscribers := func() int {
				n := 0
				for _, node := range look.client.Nodes() {
					counts, err := node.Do(t.Context(), node.B().PubsubNumsub().Channel(redisstore.Channel(s)).Build()).AsIntMap()
					if err != nil {
						t.Fatal(err)
					}
					n += int(counts[redisstore.Channel(s)])
				}
				return n
			}
			if n := subscribers(); n != 1 {
				t.Errorf("%d subscriptions while the store is open, want 1", n)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if n := subscribers(); n != 0 {
				t.Errorf("%d subscriptions after Close, want 0", n)
			}
			if err := look.do("PING").Error(); err != nil {
				t.Errorf("the client must still work: %v", err)
			}
		})
	}
}
