package semelhttp_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// TestNew: what cannot work is refused at once.
func TestNew(t *testing.T) {
	t.Parallel()
	db := memdb.New(memstore.New(nil), nil)
	guard := must.Get(semel.New(db, nil))
	t.Cleanup(func() { _ = guard.Close() })
	scope := semelhttp.ScopeBy(anonymous)
	for want, o := range map[string]semelhttp.Options{
		"must not be negative":    {MaxBodyBytes: -1},
		"MaxResponseBytes is":     {MaxResponseBytes: 1 << 30},
		"On5xx has a value":       {On5xx: 9},
		"is not a URL":            {PolicyURL: "a\r\nb"},
		"JSON pointer":            {Key: semelhttp.FromJSONPointer("id")},
		"Fields is empty":         {Key: semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{}})},
		"in letter case alone":    {Key: semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"/a/id", "/a/ID"}})},
		"FailOpen and Transactor": {Transactor: db, FailOpen: true},
		"MaxHeldBytes is smaller": {Transactor: db, MaxResponseBytes: 100, MaxHeldBytes: 99},
	} {
		_, err := semelhttp.New(guard, scope, &o)
		if err == nil || !strings.HasPrefix(err.Error(), "semelhttp: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error of this package that says %q", err, want)
		}
	}
	if _, err := semelhttp.New(nil, scope, nil); err == nil || !strings.Contains(err.Error(), "guard is nil") {
		t.Errorf("no guard: got %v", err)
	}
	if _, err := semelhttp.New(guard, nil, nil); err == nil || !strings.Contains(err.Error(), "scope is nil") {
		t.Errorf("no scope: got %v", err)
	}
	if _, err := semelhttp.New(guard, scope, &semelhttp.Options{Transactor: db}); err != nil {
		t.Error(err)
	}
}
