package semeltemporal_test

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/semel-dev/semel"
	semeltemporal "github.com/semel-dev/semel/adapters/temporal"
)

// What the examples share: a guard over a store that all workers use, and Temporal's client.
var (
	guard  *semel.Guard
	server client.Client
)

func ExampleNew() { //nolint:testableexamples // it needs a server.
	activities, err := semeltemporal.New(guard, nil)
	if err != nil {
		panic(err)
	}
	_ = worker.New(server, "orders", worker.Options{Interceptors: []interceptor.WorkerInterceptor{activities}}) // every activity happens once
}

// A request that is repeated gets the workflow that the first one started.
func ExampleStarter_StartOnce() { //nolint:testableexamples // it needs a server.
	starter := semeltemporal.Starter{Client: server}
	key := semel.Key{Scope: "alice create order", Name: "8e03978e-40d5-43dd-bc93-6894a57f9324"}
	run, err := starter.StartOnce(context.Background(), key, client.StartWorkflowOptions{TaskQueue: "orders"}, "order", 1250)
	if errors.Is(err, semel.ErrMismatch) {
		fmt.Println("the key was used for another order")
		return
	}
	fmt.Println(run.GetID() == semeltemporal.WorkflowID(key), err)
}

// The answer of a question is the result that later attempts get.
func ExampleOutcomeOf() { //nolint:testableexamples // it needs a server.
	_, _ = semeltemporal.New(guard, &semeltemporal.Options{Policy: semel.Policy{
		OnUnknown: semel.Reconcile,
		Reconcile: func(ctx context.Context, rec semel.Record) (semel.Reconciliation, error) {
			receipt, err := paymentOf(ctx, rec.Name)
			if err != nil {
				return semel.Reconciliation{}, err // nothing is known: still unknown
			}
			outcome, err := semeltemporal.OutcomeOf(receipt, nil)
			return semel.Reconciliation{Verdict: semel.Happened, Outcome: outcome, Kept: true}, err
		},
	}})
}

func paymentOf(context.Context, string) (string, error) { return "", errors.New("no provider here") }
