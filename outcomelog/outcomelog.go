// Package outcomelog has the one shape in which the doors of Semel log creates,
// so that what a person did can be separated from mere repetitions.
//
// The middleware, the gateway and the guards in the database each log what
// passes through them. An action that goes through several is logged by each,
// with the same key; count at one door:
//
//	create.door  create.outcome     one action that was sent four times
//	gateway      created            the first time
//	gateway      merged             while the first was running: it got its answer
//	gateway      replayed           later
//	gateway      replayed           later
//
// No event holds a key, a value of a field, a cookie or anything else that was
// sent: only the digest of the key and names of fields.
package outcomelog

import (
	"context"
	"log/slog"
)

// KeyDigits limits the logged digits of a key's digest: enough for semel
// records show to find its record.
const KeyDigits = 16

// Door is the source of an event.
type Door string

// The doors.
const (
	Middleware Door = "middleware" // package semelhttp in a service
	GRPC       Door = "grpc"       // package semelgrpc in a service
	Gateway    Door = "gateway"    // the proxy
	Database   Door = "dbguard"    // a guard in the database
)

// Event is the outcome of one request, in the same shape at every door; members
// that a door does not know are empty.
type Event struct {
	Door    Door
	Outcome Outcome
	// Key is the key's digest, in hexadecimal. A log line has its first [KeyDigits] digits.
	Key string
	// Route names the route or pattern.
	Route string
	// Rule is the uniqueness rule that decided, and Fields the names of the
	// columns that must not be the same twice.
	Rule   string
	Fields []string
	// Status is the HTTP status of the answer; 0 for none.
	Status int
	// Made is the path of the resource that the answer names as created. It is for package archive: no log line has it,
	// because a path can be a secret of its own.
	Made string
}

// Sink takes events. It may be called from any goroutine, and must return at
// once.
type Sink func(context.Context, Event)

// LogValue makes an event a group of attributes, always the same ones.
func (e Event) LogValue() slog.Value {
	fields := e.Fields
	if fields == nil {
		fields = []string{} // [] in JSON, not null
	}
	return slog.GroupValue(
		slog.String("door", string(e.Door)),
		slog.String("outcome", string(e.Outcome)),
		slog.String("key", e.Key[:min(len(e.Key), KeyDigits)]),
		slog.String("route", e.Route),
		slog.String("rule", e.Rule),
		slog.Any("fields", fields),
		slog.Int("status", e.Status),
	)
}

// Attr returns the event as the attribute "create" of a log line.
func (e Event) Attr() slog.Attr { return slog.Any("create", e) }

// To returns a sink that writes one line for each event.
func To(log *slog.Logger) Sink {
	return func(ctx context.Context, e Event) { log.LogAttrs(ctx, e.Outcome.Level(), "create", e.Attr()) }
}
