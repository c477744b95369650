package memstore_test

import (
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

func open(testing.TB) *storetest.Instance {
	c := &claimtest.Clock{}
	return &storetest.Instance{Store: memstore.New(&memstore.Options{Now: c.Now}), Advance: c.Advance}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, open)
}
