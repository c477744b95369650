package plan_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
)

var noError = claimtest.NoError

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}
