package sqlitestore_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(map[string]func(context.Context, []string) error{"unprivileged": childUnprivileged}, processes())
	claimtest.Limit(0, 25)
	goleak.VerifyTestMain(m)
}
