package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/operator"
)

const (
	trialVar = "SEMEL_FLOW_TRIAL" // makes the test binary a process that begins one run of that trial, and dies
	runVar   = "SEMEL_FLOW_RUN"   // the number of the run

	runsAtATime = 4
	mostKills   = 3
	// points is about the number of points of a flow.
	points = 16
	// aWhile bounds the time from a point to the death of the process.
	aWhile = 3 * time.Millisecond
)

// trial is one way of one of the two operations.
type trial struct {
	name     string
	options  func(s **shop) shopOptions
	fails    bool // for good, at the last step
	parks    bool // where the answer of the charge is lost
	accept   bool
	callback bool
}

// trials are the create order and the payment callback, in all ways to find out and to answer.
func trials() []trial {
	with := func(charge ...flow.Option) func(**shop) shopOptions {
		return func(**shop) shopOptions { return shopOptions{charge: charge} }
	}
	callback := func(**shop) shopOptions {
		return shopOptions{callback: true, Options: flow.Options{Background: &operator.Unattended{Every: 200 * time.Millisecond, MinPause: time.Millisecond}}}
	}
	return []trial{
		{name: "create order, the callee deduplicates", options: with(flow.CalleeDedupes(time.Hour))},
		{name: "create order, the callee is asked", options: func(s **shop) shopOptions {
			return shopOptions{charge: []flow.Option{flow.Ask(func(ctx context.Context) (string, semel.Verdict, error) { return (*s).found(ctx) })}}
		}},
		{name: "create order, an operator is asked", options: with(), parks: true},
		{name: "create order, it fails for good", options: with(flow.CalleeDedupes(time.Hour)), fails: true},
		{name: "payment callback", options: callback, callback: true},
		{name: "payment callback, accepted", options: callback, callback: true, accept: true},
	}
}

func (tr *trial) openShop(ctx context.Context, folder string) (*shop, error) {
	var s *shop
	o := tr.options(&s)
	o.policy = semel.Policy{Lease: shortLease, Wait: 20 * time.Second}
	var err error
	if s, err = newShop(ctx, folder, o); err == nil && tr.fails {
		s.points = noSuchCustomer
	}
	return s, err
}

// input is that of a run, with an amount of its own.
func (*trial) input(run int) order {
	return order{Customer: "customer " + strconv.Itoa(run), Amount: 1000 + run}
}

func (tr *trial) start(ctx context.Context, s *shop, run int) (receipt, error) {
	if tr.accept {
		if err := flow.Accept(ctx, s.flows, s.order, numbered(run), tr.input(run)); err != nil {
			return receipt{}, err
		}
	}
	return flow.Start(ctx, s.flows, s.order, numbered(run), tr.input(run))
}

// dies is a process that begins a run, and is killed a while after a point of it.
func dies(folder, name string, run int) error {
	all := trials()
	tr := all[slices.IndexFunc(all, func(tr trial) bool { return tr.name == name })]
	ctx := context.Background()
	s, err := tr.openShop(ctx, folder)
	if err != nil {
		return err
	}
	kill := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	left := atomic.Int64{}
	left.Store(rand.Int64N(points))
	s.at = func(string) {
		if left.Add(-1) == 0 {
			time.AfterFunc(rand.N(aWhile), kill)
		}
	}
	_, _ = tr.start(ctx, s, run)
	kill() // the answer is lost
	select {}
}

// TestKilledAtAnyMoment: the processes of an operation are killed, at any moment of it, and
// another one finishes it. Each effect is there once, or undone, or the flow is parked until
// an operator has looked; nothing is lost (promises 2, 3 and 4).
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	for _, tr := range trials() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			runs := claimtest.Times(5, 40, 130) // of four trials
			if tr.callback {
				runs = claimtest.Times(5, 80, 260) // of two
			}
			folder := t.TempDir()
			s, err := tr.openShop(t.Context(), folder)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.close)
			var all sync.WaitGroup
			var kills, parked atomic.Int32
			seats := make(chan struct{}, runsAtATime)
			began := time.Now()
			for run := range runs {
				seats <- struct{}{}
				all.Go(func() {
					defer func() { <-seats }()
					for range 1 + rand.N(mostKills) {
						cmd := child(t, folder, trialVar+"="+tr.name, runVar+"="+strconv.Itoa(run))
						if err := cmd.Wait(); cmd.ProcessState.ExitCode() >= 0 {
							t.Errorf("run %d: the process was not killed: %v", run, err)
						}
						kills.Add(1)
					}
					parked.Add(tr.finish(t, s, run))
				})
			}
			all.Wait()
			t.Logf("%d runs, %d processes killed, %d flows parked, %v", runs, kills.Load(), parked.Load(), time.Since(began).Round(time.Millisecond))
			tr.check(t, s, runs)
		})
	}
}

// finish goes on with the run to its end, and returns how often it was parked.
func (tr *trial) finish(t *testing.T, s *shop, run int) (parked int32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var first receipt
	for pause := range waiting.Backoffs() {
		got, err := tr.start(ctx, s, run)
		if err == nil || tr.fails && isFailed(err) {
			first = got
			break
		}
		if p, ok := errors.AsType[*flow.Parked](err); ok {
			parked++
			tr.decide(t, s, p, run)
		}
		if !waiting.Sleep(ctx, pause) {
			t.Errorf("run %d does not end: %v", run, err)
			return parked
		}
	}
	if got, err := tr.start(t.Context(), s, run); got != first || (err != nil) != tr.fails {
		t.Errorf("run %d: a later caller got %+v, %v, want %+v", run, got, err, first)
	}
	return parked
}

// decide resolves the step of a parked flow, as an operator does.
func (tr *trial) decide(t *testing.T, s *shop, p *flow.Parked, run int) {
	t.Helper()
	rec, err := s.store.Lookup(t.Context(), p.Digest)
	if err != nil || operator.State(&rec) != semel.StateUnknown || p.Step != "charge" || !tr.parks {
		t.Errorf("run %d: the record of %v is %v, %v", run, p, operator.State(&rec), err)
		return
	}
	to := semel.Settlement{State: semel.StateReleased, Note: "the service shows no charge"}
	if charges(t, s, "charges", tr.input(run).Amount) != 0 {
		to = semel.Settlement{State: semel.StateCompleted, Note: "it does", Outcome: outcome(t, s.guard, p.Digest, "charge of the bank"), Kept: true}
	}
	s.resolve(t, p.Digest, to)
}

// charges counts the effects at the service.
func charges(t *testing.T, s *shop, table string, n int) (count int) {
	t.Helper()
	if err := s.service.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table+" WHERE n = ?", n).Scan(&count); err != nil {
		t.Error(err)
	}
	return count
}

// check compares what every run has left with what it should have, row by row.
func (tr *trial) check(t *testing.T, s *shop, runs int) {
	t.Helper()
	for run := range runs {
		in := tr.input(run)
		want := "orders [1] stock [-1] points [" + strconv.Itoa(in.Amount) + "] payments [] mails [] charges 1 0 shipments 0"
		switch {
		case tr.callback:
			want = "orders [] stock [] points [] payments [" + strconv.Itoa(in.Amount) + "] mails [1] charges 0 0 shipments 1"
		case tr.fails:
			want = "orders [1 -1] stock [-1 1] points [] payments [] mails [] charges 1 1 shipments 0"
		}
		got := ""
		for _, table := range []string{"orders", "stock", "points", "payments", "mails"} {
			got += fmt.Sprintf("%s %v ", table, numbers(t, s, table, in.Customer))
		}
		got += fmt.Sprintf("charges %d %d shipments %d", charges(t, s, "charges", in.Amount), charges(t, s, "charges", -in.Amount), charges(t, s, "shipments", in.Amount))
		if got != want {
			t.Errorf("run %d has left %s, want %s", run, got, want)
		}
	}
}

// numbers are those of a customer's rows, in their order.
func numbers(t *testing.T, s *shop, table, customer string) (ns []int) {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), "SELECT n FROM "+table+" WHERE customer = ? ORDER BY id", customer)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		ns = append(ns, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ns
}
