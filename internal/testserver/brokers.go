package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// NATSServer is a NATS server with JetStream that belongs to one test.
type NATSServer struct {
	*life[*dbserver.NATS]

	name string
}

// Name is that of a server of a cluster.
func (s *NATSServer) Name() string { return s.name }

// NATSOptions are the options of [StartNATS].
type NATSOptions = dbserver.NATSOptions

// StartNATS starts a NATS server for this test, in a tenth of a second.
func StartNATS(tb testing.TB, o *NATSOptions) *NATSServer {
	tb.Helper()
	s, err := servers(tb).NATS(tb.Context(), o)
	return &NATSServer{life: newLife(tb, s, err)}
}

// StartNATSCluster starts a cluster of NATS servers for this test.
func StartNATSCluster(tb testing.TB, nodes int, o *NATSOptions) []*NATSServer {
	tb.Helper()
	all, err := servers(tb).NATSCluster(tb.Context(), nodes, o)
	require(tb, err)
	servers := make([]*NATSServer, len(all))
	for i, s := range all {
		servers[i] = &NATSServer{life: newLife(tb, s, nil), name: dbserver.NATSName(i)}
	}
	return servers
}

// RabbitMQServer is a RabbitMQ node that belongs to one test.
type RabbitMQServer struct{ *life[*dbserver.RabbitMQ] }

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
