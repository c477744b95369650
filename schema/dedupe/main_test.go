package dedupe_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
)

var noError = claimtest.NoError

func TestMain(m *testing.M) {
	claimtest.Limit(4, 0)
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}
