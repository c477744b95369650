package outbox_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outbox"
)

// A tombstone is published as one, with and without headers, and nothing else is.
func TestTombstone(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		p, to := at(t, d, nil), &receiver{}
		all := []outbox.Message{
			{ID: "1", Topic: "t", Key: "k"},
			{ID: "2", Topic: "t", Key: "k", Header: map[string]string{"A": " b"}},
			{ID: "3", Topic: "t", Key: "k", Body: []byte{}},
			{ID: "4", Topic: "t", Key: "k", Body: []byte{}, Header: map[string]string{"A": "b"}},
		}
		claimtest.NoError(t, add(t, p.out, d.DB, all[:2]...))
		tx := claimtest.Begin(t, d.DB)
		claimtest.NoError(t, addByStatement(t.Context(), p.out, tx, all[2:]...))
		claimtest.NoError(t, tx.Commit())
		claimtest.NoError(t, add(t, p.out, d.DB, all...)) // they wait already
		empty := all[0]
		empty.Body = []byte{}
		claimtest.WantErr(t, "a tombstone and an empty body", add(t, p.out, d.DB, empty), outbox.ErrConflict)
		p.runs(t, to, quick())
		to.wants(t, "k", "1", "2", "3", "4")
		if diff := cmp.Diff(all, to.got); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}
