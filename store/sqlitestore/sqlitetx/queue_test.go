package sqlitetx_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// Promise 8: in the queue of a process a twin waits as long as its policy says,
// another intent as long as the store does, and each hears of it in its words.
// A duplicate of what is settled does not queue at all.
func TestQueue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key  string
		busy time.Duration
		want error
		says string
	}{
		"twin":         {"k", time.Minute, semel.ErrInFlight, "works on it"},
		"other intent": {"other", 20 * time.Millisecond, semel.ErrUnavailable, "only writer"},
		"duplicate":    {"before", time.Minute, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "app.db")
			s := mustOpen(t, database(t, path, ""), &sqlitetx.Options{BusyTimeout: test.busy})
			// The guards do not know of each other.
			first, second := guard(t, s, nil), guard(t, s, &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
			if _, err := addRow(t.Context(), first, "before"); err != nil {
				t.Fatal(err)
			}
			apart := t.Context()
			_, err := sqlitetx.Do(t.Context(), first, key("k"), sameRequest(), func(context.Context, *sql.Tx) (string, error) {
				_, err := sqlitetx.Do(apart, second, key(test.key), sameRequest(), never(t))
				if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v, want %v (%s)", err, test.want, test.says)
				}
				return "answer", nil
			})
			if err != nil {
				t.Error(err)
			}
			verify(t, path)
		})
	}
}
