package rabbitmq_test

import (
	"testing"

	"github.com/semel-dev/semel/internal/drivertest"
)

// TestRow proves docs/names.md.
func TestRow(t *testing.T) {
	t.Parallel()
	drivertest.Names(t, "RabbitMQ", driver())
}
