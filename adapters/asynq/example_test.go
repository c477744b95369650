package semelasynq_test //nolint:testableexamples // it needs a server.

import (
	"context"

	"github.com/hibiken/asynq"

	"github.com/semel-dev/semel"
	semelasynq "github.com/semel-dev/semel/adapters/asynq"
)

// The examples share a guard, over any store.
var guard *semel.Guard

func ExampleNew() {
	tasks, err := semelasynq.New(guard, nil)
	if err != nil {
		panic(err)
	}
	mux := asynq.NewServeMux()
	mux.Use(tasks.Middleware)
	mux.HandleFunc("charge", func(context.Context, *asynq.Task) error { return nil })
	server := asynq.NewServer(asynq.RedisClientOpt{Addr: "localhost:6379"}, asynq.Config{
		RetryDelayFunc: semelasynq.RetryDelay,
		IsFailure:      semelasynq.IsFailure,
	})
	_ = server.Run(mux)
}
