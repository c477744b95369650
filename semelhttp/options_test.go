package semelhttp_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// TestNew: what cannot work is refused at once.
func TestNew(t *testing.T) {
	t.Parallel()
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guard.Close() })
	scope := semelhttp.ScopeBy(anonymous)
	for name, try := range map[string]func() error{
		"no guard":       func() error { _, err := semelhttp.New(nil, scope, nil); return err },
		"no scope":       func() error { _, err := semelhttp.New(guard, nil, nil); return err },
		"negative bound": func() error { _, err := semelhttp.New(guard, scope, &semelhttp.Options{MaxBodyBytes: -1}); return err },
		"response bound": func() error {
			_, err := semelhttp.New(guard, scope, &semelhttp.Options{MaxResponseBytes: 1 << 30})
			return err
		},
		"on 5xx": func() error { _, err := semelhttp.New(guard, scope, &semelhttp.Options{On5xx: 9}); return err },
		"policy URL": func() error {
			_, err := semelhttp.New(guard, scope, &semelhttp.Options{PolicyURL: "a\r\nb"})
			return err
		},
		"pointer": func() error {
			_, err := semelhttp.New(guard, scope, &semelhttp.Options{Key: semelhttp.FromJSONPointer("id")})
			return err
		},
		"no fields": func() error {
			_, err := semelhttp.New(guard, scope, &semelhttp.Options{Key: semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{}})})
			return err
		},
		"fields that fold": func() error {
			_, err := semelhttp.New(guard, scope, &semelhttp.Options{Key: semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"/a/id", "/a/ID"}})})
			return err
		},
	} {
		if err := try(); err == nil || !strings.HasPrefix(err.Error(), "semelhttp: ") {
			t.Errorf("%s: got %v, want an error of this package", name, err)
		}
	}
}
