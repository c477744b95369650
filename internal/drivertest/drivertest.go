// Package drivertest holds the rules that every driver of a broker keeps, in both directions: a real publisher, a real
// broker behind a proxy that breaks connections, a real consumer, and a real inbox over a SQLite store. Only tests import it.
//
//	func TestMain(m *testing.M) { drivertest.Child(driver()); goleak.VerifyTestMain(m) }
//	func TestDriver(t *testing.T) { drivertest.Run(t, driver()) }
package drivertest

import (
	"context"
	"testing"

	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/outbox"
)

// Driver is a driver under test. Addresses are host:port, mostly those of a proxy in front of the broker. The
// functions are called from several goroutines.
type Driver struct {
	// Addr returns a broker for one test, which may be shared between tests.
	Addr func(tb testing.TB) string
	// Own starts a broker that the test kills. What it has acknowledged must survive that.
	Own func(tb testing.TB) Server
	// Make makes an empty topic of that name, with one consumer, to whom the broker gives a message again after
	// a few seconds when it was delivered and not acknowledged. left returns how many of
	// its messages are not acknowledged, and may leave out those that a running consumer holds.
	Make func(tb testing.TB, addr, topic string) (left func() int)
	// Consume consumes the topic with so many handlers at once, until ctx ends. It has no testing.TB
	// because it also runs in another process.
	Consume func(ctx context.Context, addr, topic string, handlers int, handle Handle) error
	// Publisher returns a publisher, and what closes it. It has no testing.TB for the same reason.
	Publisher func(addr string) (p outbox.Publisher, end func(), err error)
	// Foreign sends a message as another producer may: ID, key, body, headers, those with several values included. The error is that of the
	// broker's client, or says that the broker has no place for what the message holds.
	Foreign func(ctx context.Context, addr, topic string, m inbox.Message) error
	// Tombstones reports whether the broker tells a body that is nil from an empty one.
	Tombstones bool
	// Names reports whether the driver gives an anonymous message a name of its own. Otherwise the inbox quarantines it.
	Names bool
	// Refused is the Topic of a message that the broker does not take.
	Refused string
	// Reserved are headers that the broker obeys or writes, which no message may have.
	Reserved []string
}

// Handle judges the messages of a driver.
type Handle = func(context.Context, inbox.Message) inbox.Verdict

// Server is a broker that a test kills and starts again, on the same port and data.
type Server interface {
	Addr() string
	Kill()
	Start()
}

// Run checks every rule.
func Run(t *testing.T, d Driver) {
	t.Helper()
	for name, rule := range map[string]func(*bench){
		"every message arrives and has one effect, even when it is published again":           once,
		"a message that is given back comes again, and not before its delay":                  retried,
		"a message whose consumer is cut off goes to another one":                             cutOff,
		"connections that break lose and repeat nothing":                                      disturbed,
		"a message in quarantine is acknowledged and kept":                                    quarantined,
		"every field reaches the handler and the quarantine, and comes back with a release":   fields,
		"every field of an outbox reaches the handler, or is refused":                         published,
		"messages of a key arrive in their order, over failures":                              ordered,
		"of a batch, only the refused message and the later ones of its key fail":             refused,
		"a message with a reserved header is refused for good":                                reserved,
		"a publisher says that the broker cannot be reached, and goes on when it can":         unreachable,
		"a publisher does not say that a message arrived before it knows":                     unacknowledged,
		"the largest message that an outbox takes arrives":                                    largest,
		"a consumer that has to stop waits for its handlers":                                  stopped,
		"a message that kills the process is quarantined, and takes no other message with it": poison,
		"a consumer that is killed again and again loses no wish and repeats none":            storm,
		"relays that are killed lose nothing, and keep the order of keys":                     relayed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(newBench(t, d, d.Addr(t)))
		})
	}
	t.Run("a broker that is killed and comes back loses and repeats nothing", func(t *testing.T) {
		t.Parallel()
		server := d.Own(t)
		restarted(newBench(t, d, server.Addr()), server)
	})
}
