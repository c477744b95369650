package order

import (
	"context"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/pgstore"
)

const (
	// FlowVictim is the value of [contest.VictimVar] for [Hang].
	FlowVictim = "flow"

	hangsIn = 2 // the step in which a victim is killed
)

// define returns the order as a flow.
func (d *Database) define() *flow.Definition[string, int] {
	return flow.Define("order", func(r *flow.Run, _ string) (int, error) {
		for i := range Steps - 1 {
			if _, err := flow.Tx(r, strconv.Itoa(i), i, func(ctx context.Context, i int) (Row, error) {
				return d.Insert(ctx, pgstore.TxFrom(ctx), i)
			}); err != nil {
				return 0, err
			}
		}
		return flow.Finish(r, "last", Steps-1, func(ctx context.Context, i int) (int, error) {
			_, err := d.Insert(ctx, pgstore.TxFrom(ctx), i)
			return Steps, err
		})
	})
}

func (d *Database) flows(background *operator.Unattended) (*flow.Flows, error) {
	return flow.New(d.guard, &flow.Options{Transactor: d.store.Transactor(nil), Background: background}, d.order)
}

func victimsKey() semel.Key { return semel.Key{Scope: "tenant-7 orders", Name: "killed"} }

// Takeover returns work that opens a database of its own, which drop removes. ready
// and killed are those of [contest.Takeover].
func Takeover(ctx context.Context, name, victim string, ready, killed func(context.Context, *Database) error) (t contest.Takeover, drop func(), err error) {
	d, err := Open(ctx, "", nil)
	if err != nil {
		return t, nil, err
	}
	of := func(f func(context.Context, *Database) error) func(context.Context) error {
		if f == nil {
			return nil
		}
		return func(ctx context.Context) error { return f(ctx, d) }
	}
	return contest.Takeover{Name: name, Victim: victim, Env: d.Env(), Ready: of(ready), Killed: of(killed), Done: d.Done}, d.Drop, nil
}

// Retried goes on with the victim's flow as a caller that retries does.
func Retried(ctx context.Context, d *Database) error {
	flows, err := d.flows(nil)
	if err != nil {
		return err
	}
	go func() {
		for ctx.Err() == nil {
			if _, err := flow.Start(ctx, flows, d.order, victimsKey(), ""); err == nil {
				return
			}
			waiting.Sleep(ctx, time.Second)
		}
	}()
	return nil
}

// InBackground goes on with the victim's flow without a caller.
func InBackground(_ context.Context, d *Database) error {
	_, err := d.flows(&operator.Unattended{})
	return err
}

// OpenToHang opens the database of a victim, which hangs in its third step.
func OpenToHang(ctx context.Context) (*Database, error) {
	d, err := Open(ctx, "", nil)
	if err == nil {
		d.At = func(step int) {
			if step == hangsIn {
				contest.HangInStep()
			}
		}
	}
	return d, err
}

// Hang begins the flow that is killed.
func Hang(ctx context.Context) error {
	d, err := OpenToHang(ctx)
	if err != nil {
		return err
	}
	flows, err := d.flows(&operator.Unattended{})
	if err != nil {
		return err
	}
	_, err = flow.Start(ctx, flows, d.order, victimsKey(), "")
	return err
}
