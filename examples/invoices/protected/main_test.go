package protected_test

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childDatabase); path != "" {
		serveUntilKilled(context.Background(), path)
		return
	}
	goleak.VerifyTestMain(m)
}
