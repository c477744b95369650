package natsstore_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/natsstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(nil, processes("stream"))
	claimtest.Limit(4, 20)
	goleak.VerifyTestMain(m)
}

// processes share a stream. A place is a DSN.
func processes(name string) storetest.Processes {
	return storetest.Processes{
		Name: name,
		Open: func(ctx context.Context, dsn string) (semel.Store, error) { return natsstore.Open(ctx, dsn, nil) },
	}
}
