package testserver_test

import (
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// A broker that was killed comes back at the same address.
func TestKillAndStartBrokers(t *testing.T) {
	t.Parallel()
	brokers := map[string]func(*testing.T) killable{
		"nats": func(t *testing.T) killable { t.Helper(); return testserver.StartNATS(t, nil) },
	}
	if claimtest.Long() { // it takes ten seconds to start, three times
		brokers["rabbitmq"] = func(t *testing.T) killable { t.Helper(); return testserver.StartRabbitMQ(t) }
	}
	for name, start := range brokers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			for _, end := range []func(){s.Kill, s.Stop} {
				end()
				if listens(t, s.Addr()) {
					t.Error("the broker that ended listens")
				}
				s.Start()
				if !listens(t, s.Addr()) {
					t.Error("the broker that was started again does not listen")
				}
			}
		})
	}
}
