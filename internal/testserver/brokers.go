package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// NATSServer is a NATS server with JetStream that belongs to one test.
type NATSServer struct{ *life }

// StartNATS starts a NATS server for this test, in a tenth of a second.
func StartNATS(tb testing.TB) *NATSServer {
	tb.Helper()
	s, err := servers(tb).NATS(tb.Context(), "")
	return &NATSServer{newLife(tb, s, err)}
}

// RabbitMQServer is a RabbitMQ node that belongs to one test.
type RabbitMQServer struct{ *life }

// StartRabbitMQ starts a RabbitMQ node for this test, in ten seconds: only a test that ends it needs one of its own.
func StartRabbitMQ(tb testing.TB) *RabbitMQServer {
	tb.Helper()
	s, err := servers(tb).RabbitMQ(tb.Context(), "")
	return &RabbitMQServer{newLife(tb, s, err)}
}

// RabbitMQ returns host:port of the shared RabbitMQ node. Tests log in as guest, and give what they make there
// random names.
func RabbitMQ(tb testing.TB) string {
	tb.Helper()
	return shared(tb, dbserver.EnvRabbitMQ, sharedRabbitMQ)
}
