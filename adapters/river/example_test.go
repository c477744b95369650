package semelriver_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/semel-dev/semel"
	semelriver "github.com/semel-dev/semel/adapters/river"
)

// What the examples share: a guard over pgstore.Open, in the database of River's tables.
var (
	guard  *semel.Guard
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	jobs   *semelriver.Jobs
)

func ExampleNew() { //nolint:testableexamples // it needs a server.
	jobs, err := semelriver.New(guard, nil)
	if err != nil {
		panic(err)
	}
	_ = &river.Config{Middleware: []rivertype.Middleware{jobs}} // every job happens once
}

// The order and its job commit together, and a retry of the request finds the first job.
func ExampleJobs_InsertTx() { //nolint:testableexamples // it needs a server.
	ctx := context.Background()
	key := semel.Key{Scope: "user 42: charge", Name: "8e03978e-40d5-43dd-bc93-6894a57f9324"}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		id, err := jobs.InsertTx(ctx, client, tx, key, charge{Order: "17", Cents: 1250}, nil)
		fmt.Println("job", id)
		return err
	})
	fmt.Println(err)
}

// stockWorker takes stock in the transaction that completes its job.
type stockWorker struct{ river.WorkerDefaults[charge] }

func (*stockWorker) Work(ctx context.Context, job *river.Job[charge]) error {
	return semelriver.WorkTx(ctx, jobs, job, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE stock SET n = n - 1 WHERE order_id = $1", job.Args.Order)
		return err
	})
}

func ExampleWorkTx() { //nolint:testableexamples // it needs a server.
	workers := river.NewWorkers()
	river.AddWorker(workers, &stockWorker{}) // its Work calls WorkTx
}
