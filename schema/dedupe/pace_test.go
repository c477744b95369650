package dedupe_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
)

// three makes duplicates for three batches.
func (b *bench) three() *dedupe.Plan {
	b.Helper()
	b.exec("CREATE TABLE a (id int PRIMARY KEY, k int)")
	b.fill("a", 5000, func(i int) string { return fmt.Sprintf("%d, %d", i, i%2500) })
	return b.plan("a", "k", request())
}

const mergedCount = "SELECT count(*) FROM semel_dedupe_map WHERE state = 1"

// Batches rest in between, and not before the first or after the last one.
func TestRest(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		p := b.three()
		before := b.state()
		var at []int
		o := &dedupe.Options{By: "test", Pace: dedupe.Pace{Rest: 30 * time.Millisecond}, Progress: func(_, _ int, waits string) {
			if waits != "" {
				merged, err := strconv.Atoi(b.text(mergedCount))
				noError(b.T, err)
				at = append(at, merged)
			}
		}}
		start := time.Now()
		report, err := b.in.Run(b.Context(), p, o)
		noError(b.T, err)
		rested(b, at, start)
		at, start = nil, time.Now()
		_, err = b.in.Undo(b.Context(), dedupe.Target{Run: report.Run}, o)
		noError(b.T, err)
		slices.Reverse(at)
		rested(b, at, start)
		b.restored(before)
	})
}

// rested checks the numbers of losers that were merged when batches rested, in ascending order.
func rested(b *bench, at []int, start time.Time) {
	b.Helper()
	inside := func(n int) bool { return n > 0 && n < 2500 }
	if len(at) < 3 || len(slices.Compact(slices.Clone(at))) != len(at) || !slices.IsSorted(at) || !inside(at[0]) || !inside(at[len(at)-1]) {
		b.Errorf("it rested when %v rows were merged", at)
	}
	if took := time.Since(start); took < time.Duration(len(at))*30*time.Millisecond {
		b.Errorf("%d rests of 30ms took %s", len(at), took)
	}
}

// A batch that took too long makes the next one smaller, and one that was fast at most twice as large.
func TestNextSize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size int
		took time.Duration
		want int
	}{
		{250, 150 * time.Millisecond, 250},
		{250, 300 * time.Millisecond, 125},
		{250, 100 * time.Millisecond, 375},
		{250, 0, 500},
		{800, time.Millisecond, 1000},
		{1000, time.Hour, 10},
		{10, time.Hour, 10},
		{10, 150 * time.Millisecond, 10},
	} {
		if got := dedupe.NextSize(test.size, test.took); got != test.want {
			t.Errorf("%d losers took %v: the next batch has %d, want %d", test.size, test.took, got, test.want)
		}
	}
}

// No batch runs while the operator's query says that a replica is behind, or says nothing.
func TestLagQuery(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		p := b.three()
		b.exec("CREATE TABLE lag (seconds numeric(9, 3))")
		pace := dedupe.Pace{MaxLag: 2 * time.Second, LagQuery: "SELECT seconds FROM lag"}
		var at []string
		_, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test", Pace: pace, Progress: func(done, _ int, waits string) {
			if waits == "" {
				return
			}
			at = append(at, fmt.Sprintf("%d %s", done, waits))
			switch len(at) {
			case 1:
				b.exec("INSERT INTO lag VALUES (NULL), (0)")
			case 2:
				b.exec("UPDATE lag SET seconds = 2.001 WHERE seconds IS NULL")
			default:
				b.exec("UPDATE lag SET seconds = 2")
			}
		}})
		noError(b.T, err)
		want := "0 waits until it is known how far a replica is behind, 0 waits until it is known how far a replica is behind, 0 waits for a replica, which is 2.001s behind"
		if got := strings.Join(at, ", "); got != want {
			b.Errorf("it waited at: %s", got)
		}
	})
}

// A wait that is ended leaves whole batches, and the next call goes on from there.
func TestEndOfWait(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		p := b.three()
		before := b.state()
		for _, end := range []struct {
			after string
			pace  dedupe.Pace
		}{
			{"the first batch", dedupe.Pace{Rest: time.Hour}},
			{"another one", dedupe.Pace{MaxLag: time.Second, LagQuery: "SELECT CASE WHEN count(*) > 1500 THEN 60 ELSE 0 END FROM semel_dedupe_map WHERE state = 1"}},
		} {
			ctx, stop := context.WithCancel(b.Context())
			_, err := b.in.Run(ctx, p, &dedupe.Options{By: "test", Pace: end.pace, Progress: func(_, _ int, waits string) {
				if waits != "" {
					stop()
				}
			}})
			stop()
			if !errors.Is(err, context.Canceled) {
				b.Errorf("an end gives %v", err)
			}
			b.want("SELECT CASE WHEN count(*) = 250 THEN 'the first batch' WHEN count(*) > 1500 AND count(*) < 2500 THEN 'another one' END FROM semel_dedupe_map WHERE state = 1", end.after)
			b.free()
		}
		ctx, stop := context.WithCancel(b.Context())
		b.merge(p)
		_, err := b.in.Undo(ctx, dedupe.Target{Run: 1}, &dedupe.Options{By: "test", Pace: dedupe.Pace{Rest: time.Hour}, Progress: func(_, _ int, waits string) {
			if waits != "" {
				stop()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			b.Errorf("an end of the undo gives %v", err)
		}
		b.want(mergedCount, "2250")
		b.free()
		b.undo(1)
		b.restored(before)
	})
}

// A database that does not know its replicas refuses to watch them, and so does one without replicas.
func TestUnknownLag(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		p := b.plan("customer", "email", request())
		pace := dedupe.Pace{MaxLag: time.Second}
		before := b.state()
		_, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test", Pace: pace})
		b.refused(err, b.by("no replica is connected", "MariaDB and MySQL do not know how far", "SQLite knows no replicas"))
		b.restored(before)
		run := b.merge(p).Run
		_, err = b.in.Undo(b.Context(), dedupe.Target{Run: run}, &dedupe.Options{By: "test", Pace: pace})
		b.refused(err, "--lag-query")
	})
}

// A run waits for a replica that does not replay, and an undo for one that is gone.
func TestReplica(t *testing.T) {
	t.Parallel()
	primary := testserver.StartPostgres(t, nil)
	standby := primary.Standby(&testserver.StandbyOptions{Conf: map[string]string{"wal_receiver_status_interval": "1s"}})
	b := wrap(t, &databases.Database{Dialect: dialect.PostgreSQL, DSN: primary.DSN(), DB: databases.Connect(t, "pgx", primary.DSN())})
	p := b.three()
	before := b.state()
	follower := databases.Connect(t, "pgx", standby.DSN())
	pace := dedupe.Pace{MaxLag: time.Millisecond}
	paused, waited := false, false
	report, err := b.in.Run(t.Context(), p, &dedupe.Options{By: "test", Pace: pace, Progress: func(done, _ int, waits string) {
		switch {
		case waits == "" && done > 0 && !paused:
			paused = true
			_, err := follower.ExecContext(t.Context(), "SELECT pg_wal_replay_pause()")
			noError(t, err)
			testserver.Eventually(t, "the replica stops replaying", func() (stopped bool) { // it may replay a little more before it does
				noError(t, follower.QueryRowContext(t.Context(), "SELECT pg_get_wal_replay_pause_state() = 'paused'").Scan(&stopped))
				return stopped
			})
		case strings.HasPrefix(waits, "waits for standby_1, which is ") && paused && !waited:
			waited = true
			b.want(mergedCount, fmt.Sprint(done))
			_, err := follower.ExecContext(t.Context(), "SELECT pg_wal_replay_resume()")
			noError(t, err)
		}
	}})
	noError(t, err)
	if !waited {
		t.Error("the run did not wait for a replica that does not replay")
	}
	noError(t, follower.Close())
	gone := ""
	_, err = b.in.Undo(t.Context(), dedupe.Target{Run: report.Run}, &dedupe.Options{By: "test", Pace: pace, Progress: func(done, _ int, waits string) {
		switch {
		case done == 0 && gone == "":
			gone = "killed"
			standby.Kill()
		case waits == "waits: 0 of 1 replicas are connected" && gone == "killed":
			gone = "noticed"
			b.want(mergedCount, "2500")
			standby.Start()
		}
	}})
	noError(t, err)
	if gone != "noticed" || b.state() != before {
		t.Errorf("the replica was %s, or the undo leaves another state", gone)
	}
}

// A run without the right to see replicas does not watch them.
func TestHiddenReplicas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.three()
	role := "semel_blind_" + b.text("SELECT current_database()")[6:]
	b.exec("CREATE ROLE "+role, "GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role, "GRANT ALL ON SCHEMA public TO "+role)
	t.Cleanup(func() {
		for _, statement := range []string{"DROP OWNED BY " + role, "DROP ROLE " + role} {
			_, err := b.DB.ExecContext(context.WithoutCancel(t.Context()), statement)
			noError(t, err)
		}
	})
	limited := &dedupe.Database{DB: databases.Connect(t, "pgx", b.DSN+"&options=-crole%3D"+role), Dialect: b.Dialect}
	_, err := limited.Run(t.Context(), p, &dedupe.Options{By: "test", Pace: dedupe.Pace{MaxLag: time.Second}})
	b.refused(err, "GRANT pg_monitor TO this user")
}
