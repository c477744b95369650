package semelasynq_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	semelasynq "github.com/semel-dev/semel/adapters/asynq"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/storetest"
)

// TestKillStorm: however often workers are killed, each task takes effect once.
func TestKillStorm(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: s.addr})
	claimtest.Closes(t, client)
	for i, wish := range claimtest.Wishes() {
		queue := []string{"eu", "us"}[i%2] // two wishes of one id
		_, err := client.Enqueue(asynq.NewTask("charge", []byte(wish)), asynq.Queue(queue), asynq.TaskID(taskOf(wish)), asynq.Retention(time.Hour))
		claimtest.NoError(t, err)
	}
	inspector := asynq.NewInspector(asynq.RedisClientOpt{Addr: s.addr})
	claimtest.Closes(t, inspector)
	storm := claimtest.Storm{
		Worker: func() *exec.Cmd { return storetest.Command(t, "storm", s.addr) },
		Lost:   func() { s.expireAll(t) },
		Effects: func() []string {
			effects, err := s.redis.Do(t.Context(), s.redis.B().Lrange().Key("effects").Start(0).Stop(-1).Build()).AsStrSlice()
			claimtest.NoError(t, err)
			return effects
		},
		Ended: func() (open int, done []string) {
			for _, queue := range []string{"eu", "us"} {
				info, err := inspector.GetQueueInfo(queue)
				claimtest.NoError(t, err)
				open += info.Pending + info.Active + info.Scheduled + info.Retry
				completed, err := inspector.ListCompletedTasks(queue, asynq.PageSize(1000))
				claimtest.NoError(t, err)
				for _, task := range completed {
					done = append(done, string(task.Payload))
				}
			}
			return open, done
		},
	}
	storm.Run(t)
}

// taskOf is the id that two wishes share, each in a queue of its own.
func taskOf(wish string) string { return wish[:len(wish)-1] + strings.Map(even, wish[len(wish)-1:]) }

func even(digit rune) rune { return digit - (digit-'0')%2 }

// expireAll lets the leases of all tasks run out, as Asynq sees it: those of live workers too.
func (s *shop) expireAll(t *testing.T) {
	t.Helper()
	for _, queue := range []string{"eu", "us"} {
		key := "asynq:{" + queue + "}:lease"
		ids, err := s.redis.Do(t.Context(), s.redis.B().Zrange().Key(key).Min("0").Max("-1").Build()).AsStrSlice()
		claimtest.NoError(t, err)
		for _, id := range ids {
			long := float64(time.Now().Add(-time.Hour).Unix())
			claimtest.NoError(t, s.redis.Do(t.Context(), s.redis.B().Zadd().Key(key).Xx().ScoreMember().ScoreMember(long, id).Build()).Error())
		}
	}
}

// stormWorker works until it is killed. Each effect is an entry of a list in Redis, with the digest of its claim next to it.
func stormWorker(ctx context.Context, args []string) error {
	s, err := openShop(ctx, args[0])
	if err != nil {
		return err
	}
	tasks, err := semelasynq.New(s.guard, &semelasynq.Options{Policy: semel.Policy{
		Lease: time.Second, OnUnknown: semel.Reconcile,
		Reconcile: func(ctx context.Context, rec semel.Record) (semel.Reconciliation, error) {
			found, err := s.redis.Do(ctx, s.redis.B().Sismember().Key("digests").Member(rec.Digest.String()).Build()).AsBool()
			if found {
				return semel.Reconciliation{Verdict: semel.Happened}, err
			}
			return semel.Reconciliation{Verdict: semel.NotHappened}, err
		},
	}})
	if err != nil {
		return err
	}
	mux := asynq.NewServeMux()
	mux.Use(tasks.Middleware)
	mux.HandleFunc("charge", func(ctx context.Context, task *asynq.Task) error {
		claimtest.Stumble(ctx, 10*time.Millisecond)
		for _, answer := range s.redis.DoMulti(ctx, s.redis.B().Multi().Build(),
			s.redis.B().Rpush().Key("effects").Element(string(task.Payload())).Build(),
			s.redis.B().Sadd().Key("digests").Member(semel.ClaimFrom(ctx).Digest().String()).Build(), s.redis.B().Exec().Build()) {
			if err := answer.Error(); err != nil && !rueidis.IsRedisNil(err) {
				return err
			}
		}
		claimtest.Stumble(ctx, 10*time.Millisecond)
		return nil
	})
	return asynq.NewServer(asynq.RedisClientOpt{Addr: s.addr}, asynq.Config{
		Concurrency: 8, Queues: map[string]int{"eu": 1, "us": 1}, LogLevel: asynq.FatalLevel,
		TaskCheckInterval: 10 * time.Millisecond, DelayedTaskCheckInterval: 50 * time.Millisecond,
		IsFailure: semelasynq.IsFailure, RetryDelayFunc: soon,
	}).Run(mux)
}
