package semelotel_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelotel"
	"github.com/semel-dev/semel/store/memstore"
)

func ExampleTrace() {
	spans := tracetest.NewSpanRecorder() // a program has an exporter in its place
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	store := memstore.New(nil)
	defer store.Close()
	guard, err := semel.New(store, &semel.Options{Trace: semelotel.Trace(tracers, nil, nil)})
	if err != nil {
		panic(err)
	}
	defer guard.Close()

	order := semel.Key{Scope: "alice create order", Name: "8e03978e"}
	for range 2 {
		ctx, request := tracers.Tracer("shop").Start(context.Background(), "POST /orders")
		if _, err := semel.Do(ctx, guard, order, semel.FingerprintOf("book"), func(context.Context) (int, error) { return 1, nil }); err != nil {
			panic(err)
		}
		request.End()
	}
	for _, span := range spans.Ended() {
		fmt.Println(span.Name(), "links:", len(span.Links()))
	}
	// Output:
	// semel.begin links: 0
	// semel.settle links: 0
	// POST /orders links: 0
	// semel.begin links: 1
	// POST /orders links: 0
}
