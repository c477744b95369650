package semelasynq_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	semelasynq "github.com/semel-dev/semel/adapters/asynq"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(map[string]func(context.Context, []string) error{"work": workUntilKilled, "storm": stormWorker})
	goleak.VerifyTestMain(m)
}

// shop is a Redis server with Asynq's queues, Semel's records and the effects, a counter for each order.
type shop struct {
	addr  string
	redis rueidis.Client
	store *redisstore.Store
	guard *semel.Guard
}

func openShop(ctx context.Context, addr string) (s *shop, err error) {
	s = &shop{addr: addr}
	if s.redis, err = rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true}); err != nil {
		return nil, err
	}
	if s.store, err = redisstore.Open(ctx, "redis://"+addr, nil); err != nil {
		return nil, err
	}
	s.guard, err = semel.New(s.store, nil)
	return s, err
}

func (s *shop) Close() error {
	defer s.redis.Close()
	return errors.Join(s.guard.Close(), s.store.Close())
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s, err := openShop(t.Context(), testserver.StartRedis(t, nil).Addr())
	claimtest.NoError(t, err)
	claimtest.Closes(t, s)
	return s
}

// The points of a task.
const (
	before   = "before"   // its effect
	after    = "after"    // its effect
	recorded = "recorded" // but Asynq does not know
)

// server works on tasks, which call at with each point that they reach.
func (s *shop) server(o *semelasynq.Options, at func(point string)) (*asynq.Server, *asynq.ServeMux, error) {
	tasks, err := semelasynq.New(s.guard, o)
	if err != nil {
		return nil, nil, err
	}
	if at == nil {
		at = func(string) {}
	}
	mux := asynq.NewServeMux()
	mux.Use(func(next asynq.Handler) asynq.Handler {
		return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
			err := next.ProcessTask(ctx, task)
			at(recorded)
			return err
		})
	}, tasks.Middleware)
	mux.HandleFunc("charge", func(ctx context.Context, _ *asynq.Task) error {
		id, _ := asynq.GetTaskID(ctx)
		at(before)
		// A worker that loses its short lease on a busy machine still has its effect.
		err := s.redis.Do(context.WithoutCancel(ctx), s.redis.B().Incr().Key("effect:"+id).Build()).Error()
		at(after)
		return err
	})
	return s.newServer(), mux, nil
}

func (s *shop) newServer() *asynq.Server {
	return asynq.NewServer(asynq.RedisClientOpt{Addr: s.addr}, asynq.Config{
		Queues: map[string]int{"default": 1, "eu": 1, "us": 1}, LogLevel: asynq.FatalLevel,
		TaskCheckInterval: 10 * time.Millisecond, DelayedTaskCheckInterval: 50 * time.Millisecond,
		IsFailure: semelasynq.IsFailure, RetryDelayFunc: soon,
	})
}

// serve does the work of charges and refunds, within layers, until the end of the test.
func (s *shop) serve(t *testing.T, work func(context.Context) error, layers ...asynq.MiddlewareFunc) {
	t.Helper()
	mux, server := asynq.NewServeMux(), s.newServer()
	mux.Use(layers...)
	for _, kind := range []string{"charge", "refund"} {
		mux.HandleFunc(kind, func(ctx context.Context, _ *asynq.Task) error { return work(ctx) })
	}
	claimtest.NoError(t, server.Start(mux))
	t.Cleanup(server.Shutdown)
}

// soon retries failures at once, and what the middleware put off when it says.
func soon(n int, err error, task *asynq.Task) time.Duration {
	if semelasynq.IsFailure(err) {
		return 0
	}
	return semelasynq.RetryDelay(n, err, task)
}

// start works until the end of the test.
func (s *shop) start(t *testing.T, o *semelasynq.Options, at func(point string)) {
	t.Helper()
	server, mux, err := s.server(o, at)
	claimtest.NoError(t, err)
	claimtest.NoError(t, server.Start(mux))
	t.Cleanup(server.Shutdown)
}

func (s *shop) enqueue(t *testing.T, id, payload string, o ...asynq.Option) {
	t.Helper()
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: s.addr})
	defer client.Close()
	_, err := client.Enqueue(asynq.NewTask("charge", []byte(payload)), append(o, asynq.TaskID(id))...)
	claimtest.NoError(t, err)
}

// wantEnd waits until Asynq has removed the task after a success (state is 0), or put it into this state, with this word in
// its last error.
func (s *shop) wantEnd(t *testing.T, id string, state asynq.TaskState, word string) {
	t.Helper()
	inspector := asynq.NewInspector(asynq.RedisClientOpt{Addr: s.addr})
	defer inspector.Close()
	testserver.Eventually(t, "the task "+id+" has ended", func() bool {
		info, err := inspector.GetTaskInfo("default", id)
		if state == 0 {
			return errors.Is(err, asynq.ErrTaskNotFound)
		}
		if err != nil || info.State != state || !strings.Contains(info.LastErr, word) {
			return false
		}
		if info.Retried > 1 {
			t.Errorf("%d retries are counted, want that of the lease alone", info.Retried)
		}
		return true
	})
}

func (s *shop) wantEffects(t *testing.T, id string, want int64) {
	t.Helper()
	got, err := s.redis.Do(t.Context(), s.redis.B().Get().Key("effect:"+id).Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		err = nil // none
	}
	if err != nil || got != want {
		t.Errorf("got %d effects, error %v, want %d", got, err, want)
	}
}

// expire lets the lease of a task run out, as Asynq sees it.
func (s *shop) expire(t *testing.T, id string) {
	t.Helper()
	long := float64(time.Now().Add(-time.Hour).Unix())
	claimtest.NoError(t, s.redis.Do(t.Context(), s.redis.B().Zadd().Key("asynq:{default}:lease").ScoreMember().ScoreMember(long, id).Build()).Error())
}

// succeed starts a server that finds the lease of a task run out. A server looks for such tasks when it starts, and then once a
// minute; a heartbeat of the server that runs the task may come between: then another one starts.
func (s *shop) succeed(t *testing.T, id string, o *semelasynq.Options) {
	t.Helper()
	inspector := asynq.NewInspector(asynq.RedisClientOpt{Addr: s.addr})
	defer inspector.Close()
	var started time.Time
	testserver.Eventually(t, "a server finds that the lease has run out", func() bool {
		if time.Since(started) > 3*time.Second {
			started = time.Now()
			s.expire(t, id)
			s.start(t, o, nil)
		}
		info, err := inspector.GetTaskInfo("default", id)
		return errors.Is(err, asynq.ErrTaskNotFound) || err == nil && info.LastErr != ""
	})
}

// A task runs once whatever its id is, and its handler has a key for services.
func TestAnyID(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	keys := make(chan string, 8)
	tasks, err := semelasynq.New(s.guard, nil)
	claimtest.NoError(t, err)
	s.serve(t, func(ctx context.Context) error {
		keys <- semelasynq.KeyFor(ctx)
		return nil
	}, tasks.Middleware)
	seen := map[string]bool{}
	for _, id := range []string{strings.Repeat("é", 130), "a\nb", "a\x00b", "Ame\u0301lie", "Am\u00e9lie", "a b "} {
		for range 2 {
			s.enqueue(t, id, "1250")
			s.wantEnd(t, id, 0, "")
		}
		if len(keys) != 1 {
			t.Fatalf("%q ran %d times", id, len(keys))
		}
		key := <-keys
		if len(key) != 64 || seen[key] {
			t.Errorf("%q: got the key %q for services", id, key)
		}
		seen[key] = true
	}
}

// With the option of docs/upgrade.md, what a worker of the first key did is done.
func TestFirstKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	guard, err := s.guard.With(semel.Policy{Retention: time.Hour})
	claimtest.NoError(t, err)
	_, err = semel.Do(t.Context(), guard, semel.Key{Scope: "semel:asynq:charge", Name: "order-1"}, semel.FingerprintOf([]byte("charge"), []byte("1250")),
		func(context.Context) (struct{}, error) { return struct{}{}, nil })
	claimtest.NoError(t, err)
	s.start(t, &semelasynq.Options{Key: func(ctx context.Context, _ *asynq.Task) string { id, _ := asynq.GetTaskID(ctx); return id }}, nil)
	s.enqueue(t, "order-1", "1250")
	s.wantEnd(t, "order-1", 0, "")
	s.wantEffects(t, "order-1", 0)
}

// A handler that runs for longer than Asynq believes is not followed by a second one.
func TestLeaseLostWhileRunning(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := &semelasynq.Options{Policy: semel.Policy{Lease: 3 * time.Second}}
	working, held := make(chan struct{}, 8), make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	s.start(t, o, func(point string) {
		if point == after {
			working <- struct{}{}
			<-held
		}
	})
	t.Cleanup(release)
	s.enqueue(t, "order-1", "1250")
	<-working
	s.succeed(t, "order-1", o)
	s.wantEnd(t, "order-1", asynq.TaskStateRetry, "in flight")
	release()
	s.wantEnd(t, "order-1", 0, "")
	s.wantEffects(t, "order-1", 1)
}

// A task whose worker was killed is not run again on a guess: it is archived, or its effect is looked up; and one that is recorded is
// done.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	asked := func(v semel.Verdict) semel.Policy {
		return semel.Policy{OnUnknown: semel.Reconcile, Reconcile: func(context.Context, semel.Record) (semel.Reconciliation, error) {
			return semel.Reconciliation{Verdict: v}, nil
		}}
	}
	for name, c := range map[string]struct {
		point   string
		policy  semel.Policy
		effects int64
		state   asynq.TaskState
	}{
		"before, archived": {before, semel.Policy{}, 0, asynq.TaskStateArchived},
		"after, archived":  {after, semel.Policy{}, 1, asynq.TaskStateArchived},
		"before, asked":    {before, asked(semel.NotHappened), 1, 0},
		"after, asked":     {after, asked(semel.Happened), 1, 0},
		"recorded":         {recorded, semel.Policy{}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.enqueue(t, "order-1", "1250")
			child := storetest.Command(t, "work", s.addr, c.point)
			out, err := child.StdoutPipe()
			claimtest.NoError(t, err)
			claimtest.NoError(t, child.Start())
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "working\n" {
				t.Errorf("the worker said %q, error %v", line, err)
			}
			claimtest.NoError(t, child.Process.Kill())
			_ = child.Wait() // it was killed

			s.succeed(t, "order-1", &semelasynq.Options{Policy: c.policy})
			s.wantEnd(t, "order-1", c.state, "semel records show")
			s.wantEffects(t, "order-1", c.effects)
		})
	}
}

func workUntilKilled(ctx context.Context, args []string) error {
	s, err := openShop(ctx, args[0])
	if err != nil {
		return err
	}
	policy := semel.Policy{Lease: 300 * time.Millisecond} // soon unknown
	if args[1] == recorded {
		policy.Lease = 0 // long, so that it is recorded on a busy machine
	}
	server, mux, err := s.server(&semelasynq.Options{Policy: policy}, func(point string) {
		if point == args[1] {
			fmt.Fprintln(os.Stdout, "working")
			select {}
		}
	})
	if err != nil {
		return err
	}
	return server.Run(mux)
}

// Tasks with a key of their own happen once together, and those without one as often as Asynq runs them.
func TestKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.start(t, &semelasynq.Options{Key: func(_ context.Context, task *asynq.Task) string {
		order, _, _ := strings.Cut(string(task.Payload()), " ")
		return strings.TrimPrefix(order, "unprotected")
	}}, nil)
	for id, payload := range map[string]string{"a1": "a 1250", "a2": "a 1250", "b1": "unprotected", "b2": "unprotected"} {
		s.enqueue(t, id, payload)
		s.wantEnd(t, id, 0, "")
	}
	total := int64(0)
	for _, id := range []string{"a1", "a2"} {
		n, _ := s.redis.Do(t.Context(), s.redis.B().Get().Key("effect:"+id).Build()).AsInt64()
		total += n
	}
	if total != 1 {
		t.Errorf("order a was charged %d times", total)
	}
	s.wantEffects(t, "b1", 1)
	s.wantEffects(t, "b2", 1)
}
