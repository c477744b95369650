package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// disturbed is a store that calls disturb while every n-th verb of all that
// share made is under way. A race then gets on however slow the machine is.
type disturbed struct {
	semel.Store
	made    *atomic.Int64
	every   int64
	disturb func()
}

func (s *disturbed) verb(do func() error) error {
	if s.made.Add(1)%s.every != 0 {
		return do()
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(s.disturb)
	return do()
}

func (s *disturbed) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	err = s.verb(func() (err error) {
		rec, won, err = s.Store.Claim(ctx, p)
		return err
	})
	return rec, won, err
}

func (s *disturbed) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	return s.verb(func() error { return s.Store.Settle(ctx, d, f, v) })
}

// Promise 1: nothing is given twice while the server ends connections in the
// middle of verbs.
func TestTerminatedConnections(t *testing.T) {
	t.Parallel()
	schema := testserver.PostgresSchema(t)
	dsn := with(t, testserver.Postgres(t), func(_ *url.URL, q url.Values) { q.Set("application_name", schema) })
	p := pool(t, testserver.Postgres(t), 1)
	var made, killed atomic.Int64
	stores := make(chan semel.Store, 4)
	for range cap(stores) {
		stores <- &disturbed{Store: openAt(t, dsn, &pgstore.Options{Schema: schema}), made: &made, every: 8, disturb: func() {
			execute(t, p, fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '%s' ORDER BY random() LIMIT 1", schema))
			killed.Add(1)
		}}
	}
	report, err := storerace.Run(t.Context(), func() (semel.Store, error) { return <-stores, nil }, &storerace.Options{Keys: 24})
	t.Logf("%d connections ended, %d verbs repeated, %d wins", killed.Load(), report.Repeats, report.Wins)
	if err != nil || len(report.Violations) > 0 || report.Repeats == 0 {
		t.Errorf("violations %q, %d repeats, error %v; want none, some, none", report.Violations, report.Repeats, err)
	}
}

// Promises 1 to 3: clients whose connections break, before or after the server
// did what it was asked, execute each intent once when they repeat until the
// answer is definite, and all get that outcome.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	for name, tear := range map[string]func(p *testserver.Proxy, verb func() error) error{
		"cut": func(p *testserver.Proxy, verb func() error) error {
			var wg sync.WaitGroup
			wg.Go(p.Cut) // somewhere in the middle
			defer wg.Wait()
			return verb()
		},
		"lost replies": func(p *testserver.Proxy, verb func() error) error {
			p.LoseReplies()
			defer p.Clear()
			return verb()
		},
		"half replies": func(p *testserver.Proxy, verb func() error) error {
			p.CutAfter(100)
			defer p.Clear()
			return verb()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(testserver.Postgres(t))
			if err != nil {
				t.Fatal(err)
			}
			proxy := testserver.NewProxy(t, u.Host)
			dsn := with(t, testserver.Postgres(t), func(u *url.URL, _ url.Values) { u.Host = proxy.Addr() })
			o := &pgstore.Options{Schema: testserver.PostgresSchema(t)}
			open(t, o)
			s := &steady{Store: openAt(t, dsn, o), tear: func(verb func() error) error { return tear(proxy, verb) }}
			exactlyOnce(t, s)
			t.Logf("of %d verbs %d were repeated", s.verbs.Load(), s.repeats.Load())
			if s.repeats.Load() == 0 {
				t.Error("no verb was repeated: the test showed nothing")
			}
		})
	}
}

// exactlyOnce lets clients want the same intents until each has its outcome.
func exactlyOnce(t *testing.T, s semel.Store) {
	t.Helper()
	const intents, clients = 12, 6
	var effects [intents]atomic.Int64
	outcomes := make([][intents]string, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for k := range intents {
				for attempt := byte(1); outcomes[i][k] == ""; attempt++ {
					p := params(fmt.Sprint("intent ", k))
					p.Owner = semel.Owner{byte(i), attempt}
					rec, won, err := s.Claim(t.Context(), p)
					if err == nil && won {
						outcome := fmt.Sprintf("effect %d by %d", effects[k].Add(1), i)
						err = s.Settle(t.Context(), rec.Digest, rec.Fence, completed(outcome))
					}
					if err != nil {
						t.Error(err)
						return
					}
					outcomes[i][k] = string(rec.Outcome)
				}
			}
		})
	}
	wg.Wait()
	for k := range intents {
		if n := effects[k].Load(); n != 1 {
			t.Errorf("intent %d was executed %d times", k, n)
		}
		for i := range clients {
			if outcomes[i][k] != outcomes[0][k] {
				t.Errorf("intent %d: %q for one, %q for another", k, outcomes[i][k], outcomes[0][k])
			}
		}
	}
}

// steady repeats a verb until its answer is definite. Every tenth is torn.
type steady struct {
	semel.Store

	tear           func(verb func() error) error
	verbs, repeats atomic.Int64
}

func (s *steady) repeat(ctx context.Context, verb func() error) error {
	for {
		var err error
		if s.verbs.Add(1)%10 == 0 {
			err = s.tear(verb)
		} else {
			err = verb()
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, semel.ErrLost) || errors.Is(err, semel.ErrSettled) {
			return err
		}
		s.repeats.Add(1)
	}
}

func (s *steady) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	err = s.repeat(ctx, func() error {
		rec, won, err = s.Store.Claim(ctx, p)
		return err
	})
	return rec, won, err
}

func (s *steady) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	return s.repeat(ctx, func() error { return s.Store.Settle(ctx, d, f, v) })
}
