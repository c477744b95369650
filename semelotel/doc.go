// Package semelotel reports to OpenTelemetry what Semel does: spans and metrics of a guard, made from [semel.Trace].
//
//	guard, err := semel.New(store, &semel.Options{Trace: semelotel.Trace(tracers, meters, nil)})
//	registration, err := semelotel.Gauges(meters, guard)
//
// It uses the API of OpenTelemetry alone: the program chooses the SDK and the exporter, which send in the background, so
// that a collector which is slow or away holds no request up.
//
// The span of a replay is linked to the trace of the request that ran: the record keeps that as its note. No span and no
// metric has a key; a span has the first 16 digits of its digest, as logs do.
package semelotel
