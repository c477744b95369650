package mysqlstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(nil, processes())
	claimtest.Limit(4, 10)
	goleak.VerifyTestMain(m)
}
