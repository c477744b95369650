package dedupe_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/dedupe"
)

// A user who may not write into the tables of the tool, which another one made, changes nothing, and reads what to grant.
func TestRightsOnLedger(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		if b.Dialect == dialect.SQLite {
			return // it has no rights
		}
		by := &dedupe.Options{By: "test"}
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "INSERT INTO a VALUES (1, 'x'), (2, 'x')")
		first := b.merge(b.plan("a", "k", request())).Run
		b.exec("INSERT INTO a VALUES (3, 'y'), (4, 'y')")
		p, before := b.plan("a", "k", request()), b.state()
		const needs = "needs SELECT, INSERT and UPDATE on each of semel_dedupe_run, semel_dedupe_map, semel_dedupe_audit"
		for _, table := range []string{"semel_dedupe_run", "semel_dedupe_map", "semel_dedupe_audit"} {
			for _, rights := range []string{"", "SELECT", "SELECT, INSERT", "SELECT, UPDATE"} {
				limited := b.limited(rights, table)
				_, err := limited.Run(b.Context(), p, by)
				b.refused(err, needs)
				_, err = limited.Undo(b.Context(), dedupe.Target{Run: first}, by)
				want := needs
				if rights == "" && table == "semel_dedupe_audit" && b.Dialect == dialect.MySQL { // it hides the table
					want = "is not known here"
				}
				b.refused(err, want)
				if all, err := b.in.Status(b.Context()); err != nil || len(all) != 1 || all[0].Undone != nil || b.state() != before {
					b.Errorf("with %q on %s: %+v, %v", rights, table, all, err)
				}
			}
			b.limited("SELECT, INSERT, UPDATE", table)
		}
		limited := b.limited("SELECT, INSERT, UPDATE", "semel_dedupe_map")
		report, err := limited.Run(b.Context(), p, by)
		noError(b.T, err)
		_, err = limited.Undo(b.Context(), dedupe.Target{Run: report.Run}, by)
		noError(b.T, err)
		b.restored(before)
	})
}

// The page of runs counts no more than 100,000 losers, those of the last runs first, and says of others how many a run began with.
func TestRecent(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "INSERT INTO a VALUES (1, 'x'), (2, 'x'), (3, 'x')")
		b.merge(b.plan("a", "k", request()))
		for run, losers := range map[int]int{2: 100_000, 3: 60_000, 4: 50_000} { // the last one of so many, and another
			b.exec("INSERT INTO semel_dedupe_run (name, tbl, plan, started_by) VALUES ('r', 't', '{}', 'x')",
				fmt.Sprintf("INSERT INTO semel_dedupe_map (run, grp, item, loser, winner, state) VALUES (%[1]d, 1, 1, 'l', 'w', 1), (%[1]d, 2, %[2]d, 'm', 'w', 2)", run, losers))
		}
		for _, test := range []struct {
			before int64
			most   int
			want   []dedupe.State
		}{
			{0, 9, []dedupe.State{{Run: 4, Found: 50_000, Merged: 1, Refused: 1}, {Run: 3, Found: 60_000, Uncounted: true}, {Run: 2, Found: 100_000, Uncounted: true}, {Run: 1, Found: 2, Merged: 2}}},
			{4, 2, []dedupe.State{{Run: 3, Found: 60_000, Merged: 1, Refused: 1}, {Run: 2, Found: 100_000, Uncounted: true}}},
			{3, 1, []dedupe.State{{Run: 2, Found: 100_000, Merged: 1, Refused: 1}}},
		} {
			all, err := b.in.Recent(b.Context(), test.before, test.most)
			noError(b.T, err)
			var got []dedupe.State
			for _, s := range all {
				got = append(got, dedupe.State{Run: s.Run, Found: s.Found, Merged: s.Merged, Open: s.Open, Refused: s.Refused, Uncounted: s.Uncounted})
			}
			if !slices.Equal(got, test.want) {
				b.Errorf("before %d: got %+v, want %+v", test.before, got, test.want)
			}
		}
	})
}

// A merged row is found although the audit of its merge was deleted; where the map is gone as well, its runs are named.
func TestShowPurged(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		run := b.merge(b.plan("customer", "email", request())).Run
		b.exec("DELETE FROM semel_dedupe_audit WHERE grp = 1")
		for _, test := range []struct{ table, key, winner string }{{"", "3", `["1"]`}, {"customer", "2", `["1"]`}, {b.full("customer"), "2", `["1"]`}, {"orders", "3", ""}, {"", "5", ""}, {"", "77", ""}} {
			all, unknown, err := b.in.ShowPurged(b.Context(), test.table, test.key)
			noError(b.T, err)
			if len(unknown) > 0 || len(all) != min(len(test.winner), 1) {
				b.Errorf("%s of %q: %+v, and unknown runs %v", test.key, test.table, all, unknown)
			} else if len(all) == 1 && (all[0].Winner != test.winner || all[0].Run != run || all[0].Group != 1 || !all[0].Purged || all[0].At.IsZero()) {
				b.Errorf("%s of %q: %+v", test.key, test.table, all[0])
			}
		}
		b.exec("DELETE FROM semel_dedupe_map")
		if all, unknown, err := b.in.ShowPurged(b.Context(), "", "3"); err != nil || len(all) > 0 || !slices.Equal(unknown, []int64{run}) {
			b.Errorf("without the map: %+v, %v, %v", all, unknown, err)
		}
	})
}
