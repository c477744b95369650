package semel_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// countedLister notes how many records each List may look at.
type countedLister struct {
	*memstore.Store

	mu    sync.Mutex // guards pages
	pages []semel.ListPage
}

func (l *countedLister) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	page, err := l.Store.List(ctx, p)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages = append(l.pages, page)
	return page, err
}

// TestUnattendedLooksAtABoundedNumber shows that a pass looks at no more records
// than it may, and that the passes together look at all, promise 8: a record
// that is older than most is found, and so is a claim that lapsed.
func TestUnattendedLooksAtABoundedNumber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const records, examine = 1000, 200
		store := &countedLister{Store: memstore.New(nil)}
		policy := asked(func(semel.Record) (semel.Reconciliation, error) {
			return semel.Reconciliation{Verdict: semel.Happened, Outcome: []byte("17"), Kept: true}, nil
		})
		g := newGuard(t, store, &semel.Options{Policy: policy})
		crash(t, store.Store, testKey("crashed"))
		mustSucceed(t, mustClaim(t, g, testKey("unknown")).Unknown("upstream reset"))
		for i := range records {
			mustSucceed(t, mustClaim(t, g, testKey(fmt.Sprint("other", i))).Complete([]byte("done"), nil))
		}
		const every = 10 * time.Second
		mustSucceed(t, operate(g).ReconcileInBackground(operator.Unattended{Every: every, Examine: examine}))
		// Four fifths of a pass go on behind the one before; a pass begins at most
		// 1.5 times Every after it.
		passes := records/(examine*4/5) + 2
		time.Sleep(time.Duration(passes) * every * 3 / 2)
		mustReplay(t, g, testKey("unknown"), "17")
		mustReplay(t, g, testKey("crashed"), "17")
		store.mu.Lock()
		defer store.mu.Unlock()
		if len(store.pages) < passes/2 {
			t.Errorf("%d pages were read in %d passes", len(store.pages), passes)
		}
		examined := 0
		for _, page := range store.pages {
			examined += page.Examined
			if page.Examined > examine {
				t.Errorf("one page looked at %d records, want at most %d in a pass", page.Examined, examine)
			}
		}
		// A pass begins no sooner than half of Every after the one before.
		if most := 3 * passes * examine; examined > most {
			t.Errorf("%d records were looked at, want at most %d", examined, most)
		}
	})
}
