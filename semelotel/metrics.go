package semelotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
)

// instruments are the metrics of a guard, and the attributes that they have.
type instruments struct {
	begun, waited, settled metric.Float64Histogram
	lost                   metric.Int64Counter
	results                map[outcomelog.Outcome][]metric.RecordOption
	states                 map[semel.State][]metric.RecordOption
}

func newInstruments(meter metric.Meter) *instruments {
	seconds := metric.WithUnit("s")
	bounds := metric.WithExplicitBucketBoundaries(.00001, .0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10)
	i := &instruments{results: map[outcomelog.Outcome][]metric.RecordOption{}, states: map[semel.State][]metric.RecordOption{}}
	i.begun = made(meter.Float64Histogram("semel.begin.duration", seconds, bounds, metric.WithDescription("Time of a Begin, by its result.")))
	i.waited = made(meter.Float64Histogram("semel.wait.duration", seconds, bounds, metric.WithDescription("Time that duplicates waited for a running twin.")))
	i.settled = made(meter.Float64Histogram("semel.settle.duration", seconds, bounds, metric.WithDescription("Time of a settlement, by the state that it records.")))
	i.lost = made(meter.Int64Counter("semel.claims.lost", metric.WithUnit("{claim}"), metric.WithDescription("Claims given up before they were settled.")))
	for _, result := range []outcomelog.Outcome{
		outcomelog.Claimed, outcomelog.Replayed, outcomelog.InFlight, outcomelog.Mismatch, outcomelog.Unknown, outcomelog.NotKept, outcomelog.Unreadable,
		outcomelog.Duplicate, outcomelog.Cancelled, outcomelog.Quota, outcomelog.Unavailable, outcomelog.ShuttingDown, outcomelog.Aborted, outcomelog.KeyInvalid,
	} {
		i.results[result] = option("semel.result", string(result))
	}
	for _, state := range []semel.State{semel.StateCompleted, semel.StateFailed, semel.StateReleased, semel.StateUnknown, semel.StateCancelled} {
		i.states[state] = option("semel.state", state.String())
	}
	return i
}

// made returns an instrument. The error of a meter goes where OpenTelemetry's own go; its instrument then does nothing.
func made[T any](instrument T, err error) T {
	if err != nil {
		otel.Handle(fmt.Errorf("semelotel: %w", err))
	}
	return instrument
}

func option(name, value string) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attribute.String(name, value)))}
}

func (i *instruments) begin(ctx context.Context, info *semel.BeginInfo) {
	i.begun.Record(ctx, info.Took.Seconds(), i.results[info.Outcome]...)
	if info.Waited > 0 {
		i.waited.Record(ctx, info.Waited.Seconds())
	}
}

func (i *instruments) settle(ctx context.Context, info *semel.SettleInfo) {
	i.settled.Record(ctx, info.Took.Seconds(), i.states[info.State]...)
}

// Gauges reports what a guard holds, until the registration ends: semel.claims.live, and semel.waiters, the duplicates
// that wait. No collection asks the store.
func Gauges(meters metric.MeterProvider, g *semel.Guard) (metric.Registration, error) {
	meter := meters.Meter(scope)
	live, errLive := meter.Int64ObservableGauge("semel.claims.live", metric.WithUnit("{claim}"), metric.WithDescription("Claims held now."))
	waiting, errWaiting := meter.Int64ObservableGauge("semel.waiters", metric.WithUnit("{request}"), metric.WithDescription("Duplicates that wait for a running twin now."))
	if err := errors.Join(errLive, errWaiting); err != nil {
		return nil, fmt.Errorf("semelotel: %w", err)
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(live, int64(g.LiveClaims()))
		o.ObserveInt64(waiting, int64(g.Waiting()))
		return nil
	}, live, waiting)
}
