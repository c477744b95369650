package sqlitestore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(map[string]storetest.Verb{"unprivileged": childUnprivileged}, processes())
	claimtest.Limit(0, 25)
	goleak.VerifyTestMain(m)
}
