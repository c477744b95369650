package semelriver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	semelriver "github.com/semel-dev/semel/adapters/river"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(map[string]func(context.Context, []string) error{"work": workUntilKilled, "storm": stormWorker})
	goleak.VerifyTestMain(m)
}

// A key enqueues one job, however often it is asked, and refuses to enqueue another.
func TestInsertedOnce(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	jobs := s.jobs(t, nil)
	client, err := s.client(&worker{jobs: jobs}, nil)
	claimtest.NoError(t, err)
	first, err := s.insert(t.Context(), jobs, client, "k", charge{Order: "a", Cents: 1}, nil)
	claimtest.NoError(t, err)

	again, err := s.insert(t.Context(), jobs, client, "k", charge{Order: "a", Cents: 1}, &river.InsertOpts{Priority: 2})
	if err != nil || again != first {
		t.Errorf("the same again: got job %d, error %v, want job %d", again, err, first)
	}
	for name, args := range map[string]river.JobArgs{"other arguments": charge{Order: "a", Cents: 2}, "another kind": refund{charge{Order: "a", Cents: 1}}} {
		_, err := s.insert(t.Context(), jobs, client, "k", args, nil)
		claimtest.WantErr(t, name+": ", err, semel.ErrMismatch)
	}

	undone := errors.New("the order was refused")
	err = pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		_, err := jobs.InsertTx(t.Context(), client, tx, semel.Key{Scope: "alice", Name: "l"}, charge{Order: "b"}, nil)
		return errors.Join(err, undone)
	})
	claimtest.WantErr(t, "rolled back: ", err, undone)
	if got := s.count(t, "river_job"); got != 1 {
		t.Errorf("got %d jobs, want 1", got)
	}

	var all sync.WaitGroup
	ids := make([]int64, 8)
	for i := range ids {
		all.Go(func() {
			id, err := s.insert(t.Context(), jobs, client, "l", charge{Order: "b"}, nil)
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("racing insertions got jobs %v, want one", ids)
		}
	}
	if got := s.count(t, "river_job"); got != 2 {
		t.Errorf("got %d jobs, want 2", got)
	}
	_, err = s.insert(t.Context(), jobs, client, "m", charge{Order: "b"}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
	claimtest.NoError(t, err)
	_, err = s.insert(t.Context(), jobs, client, "n", charge{Order: "b"}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
	claimtest.Words(t, err, "UniqueOpts", "skipped")
}

// refund is another kind with the same arguments.
type refund struct{ charge }

func (refund) Kind() string { return "refund" }

// River forgets a job that it cleaned up; the key does not.
func TestKeyOutlivesRow(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	jobs := s.jobs(t, nil)
	client, events, stop := s.start(t, &worker{jobs: jobs}, nil)
	id, err := s.insert(t.Context(), jobs, client, "k", charge{Order: "a"}, nil)
	claimtest.NoError(t, err)
	wantEvent(t, events, river.EventKindJobCompleted)
	stop()

	client, _, _ = s.start(t, &worker{jobs: jobs}, func(c *river.Config) { c.CompletedJobRetentionPeriod = time.Millisecond })
	testserver.Eventually(t, "River has removed the job", func() bool { return s.count(t, "river_job") == 0 })
	again, err := s.insert(t.Context(), jobs, client, "k", charge{Order: "a"}, nil)
	if err != nil || again != id || s.count(t, "river_job") != 0 {
		t.Errorf("got job %d of %d, error %v, want the first job %d", again, s.count(t, "river_job"), err, id)
	}
}

// Whatever a worker that was killed had done, its job takes effect at most once: exactly once where the effect is rows, and where
// it is not, the job is cancelled with the reason, unless the effect was recorded.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point   string
		rows    bool
		effects int
		end     rivertype.JobState
	}{
		{"before", true, 1, rivertype.JobStateCompleted},
		{"after", true, 1, rivertype.JobStateCompleted},
		{"recorded", true, 1, rivertype.JobStateCompleted},
		{"before", false, 0, rivertype.JobStateCancelled},
		{"after", false, 1, rivertype.JobStateCancelled},
		{"recorded", false, 1, rivertype.JobStateCompleted},
	} {
		t.Run(fmt.Sprintf("%s, rows %v", c.point, c.rows), func(t *testing.T) {
			t.Parallel()
			s, dsn := newShop(t)
			jobs := s.jobs(t, nil)
			w := &worker{jobs: jobs}
			client, err := s.client(w, nil)
			claimtest.NoError(t, err)
			id, err := s.insert(t.Context(), jobs, client, "k", charge{Order: "a", Rows: c.rows}, nil)
			claimtest.NoError(t, err)
			kill(t, dsn, c.point)

			client, events, _ := s.rescuer(t, w)
			var job *rivertype.JobRow
			testserver.Eventually(t, "the job has ended", func() bool {
				job, err = client.JobGet(t.Context(), id)
				claimtest.NoError(t, err)
				return job.FinalizedAt != nil
			})
			s.wantEffects(t, c.effects)
			if job.State != c.end {
				t.Fatalf("the job is %s, want %s", job.State, c.end)
			}
			if c.end == rivertype.JobStateCompleted {
				return
			}
			if text := job.Errors[len(job.Errors)-1].Error; !strings.Contains(text, "unknown") || !strings.Contains(text, "semel records show") {
				t.Errorf("the job says %q, want that the outcome is unknown and where to look", text)
			}
			wantEvent(t, events, river.EventKindJobCancelled)
			// Nothing runs it on a guess, not even an operator of River.
			_, err = client.JobRetry(t.Context(), id)
			claimtest.NoError(t, err)
			wantEvent(t, events, river.EventKindJobCancelled)
			s.wantEffects(t, c.effects)
		})
	}
}

// kill runs a worker in another process until its job has reached this point, and kills it.
func kill(t *testing.T, dsn, point string) {
	t.Helper()
	child := storetest.Command(t, "work", dsn, point)
	out, err := child.StdoutPipe()
	claimtest.NoError(t, err)
	claimtest.NoError(t, child.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "working\n" {
		t.Errorf("the worker said %q, error %v", line, err)
	}
	claimtest.NoError(t, child.Process.Kill())
	_ = child.Wait() // it was killed
}

func workUntilKilled(ctx context.Context, args []string) error {
	s, err := openShop(ctx, args[0])
	if err != nil {
		return err
	}
	jobs, err := semelriver.New(s.guard, &semelriver.Options{Policy: semel.Policy{Lease: 300 * time.Millisecond}})
	if err != nil {
		return err
	}
	at := func(point string) {
		if point == args[1] {
			fmt.Fprintln(os.Stdout, "working")
			select {}
		}
	}
	client, err := s.client(&worker{jobs: jobs, at: at, hold: func(context.Context, string) error {
		at("after")
		return nil
	}}, nil)
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	select {}
}

// rescuer works with a client that leads, and takes the running job for stuck, because it began two hours ago.
func (s *shop) rescuer(t *testing.T, w *worker) (*river.Client[pgx.Tx], <-chan *river.Event, func()) {
	t.Helper()
	client, err := s.client(w, nil)
	claimtest.NoError(t, err)
	id := client.ID()
	_, err = s.pool.Exec(t.Context(), "UPDATE river_job SET attempted_at = now() - interval '2 hours' WHERE state = 'running'")
	claimtest.NoError(t, err)
	_, err = s.pool.Exec(t.Context(), "DELETE FROM river_leader")
	claimtest.NoError(t, err)
	client, events, stop := s.start(t, w, func(c *river.Config) { c.ID = id })
	testserver.Eventually(t, "the client leads", func() bool {
		_, err := s.pool.Exec(t.Context(), "DELETE FROM river_leader WHERE leader_id <> $1", id)
		return err == nil && s.count(t, "river_leader") == 1
	})
	return client, events, stop
}

// River takes a job that runs for long for stuck, and gives it to a second worker. That one does not run it.
func TestRescuedWhileRunning(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string]bool{"rows": true, "an effect elsewhere": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newShop(t)
			jobs := s.jobs(t, &semelriver.Options{Policy: semel.Policy{Lease: 3 * time.Second}})
			working, held := make(chan struct{}, 8), make(chan struct{})
			release := sync.OnceFunc(func() { close(held) })
			first := &worker{jobs: jobs, hold: func(context.Context, string) error {
				working <- struct{}{}
				<-held
				return nil
			}}
			client, _, stop := s.start(t, first, func(c *river.Config) { c.JobTimeout = -1 })
			t.Cleanup(release)
			id, err := s.insert(t.Context(), jobs, client, "k", charge{Order: "a", Rows: rows}, nil)
			claimtest.NoError(t, err)
			<-working

			s.rescuer(t, &worker{jobs: jobs})
			testserver.Eventually(t, "a second worker was refused", func() bool {
				row, err := client.JobGet(t.Context(), id)
				return err == nil && strings.Contains(string(row.Metadata), `"snoozes"`)
			})
			release()
			stop()
			testserver.Eventually(t, "the job is completed", func() bool {
				row, err := client.JobGet(t.Context(), id)
				return err == nil && row.State == rivertype.JobStateCompleted
			})
			s.wantEffects(t, 1)
		})
	}
}

// What the worker returns decides how River goes on, and how often the effect happens.
func TestErrorsOfWork(t *testing.T) {
	t.Parallel()
	failure := errors.New("card declined")
	const failed, snoozed, cancelled, completed = river.EventKindJobFailed, river.EventKindJobSnoozed, river.EventKindJobCancelled, river.EventKindJobCompleted
	cases := map[string]struct {
		first   error
		events  []river.EventKind
		effects int
	}{
		"plain":            {failure, []river.EventKind{failed, completed}, 2},
		"snoozed":          {river.JobSnooze(0), []river.EventKind{snoozed, completed}, 2},
		"cancelled":        {river.JobCancel(failure), []river.EventKind{cancelled}, 1},
		"final":            {semel.MarkFinal(failure), []river.EventKind{cancelled}, 1},
		"unknown":          {semel.MarkUnknown(failure), []river.EventKind{failed, cancelled}, 1},
		"a time-out":       {context.DeadlineExceeded, []river.EventKind{failed, cancelled}, 1},
		"released timeout": {semel.MarkReleased(context.DeadlineExceeded), []river.EventKind{failed, completed}, 2},
	}
	s, _ := newShop(t)
	jobs := s.jobs(t, nil)
	var begun sync.Map
	client, events, _ := s.start(t, &worker{jobs: jobs, hold: func(_ context.Context, order string) error {
		if _, again := begun.LoadOrStore(order, true); again {
			return nil
		}
		return cases[order].first
	}}, nil)
	open := 0
	for name, c := range cases {
		open += len(c.events)
		_, err := s.insert(t.Context(), jobs, client, name, charge{Order: name}, nil)
		claimtest.NoError(t, err)
	}
	got := map[string][]river.EventKind{}
	for ; open > 0; open-- {
		e := <-events
		got[orderOf(e.Job)] = append(got[orderOf(e.Job)], e.Kind)
	}
	for name, c := range cases {
		if !slices.Equal(got[name], c.events) {
			t.Errorf("%s: got %v, want %v", name, got[name], c.events)
		}
		if n := s.count(t, "effect WHERE order_id = '"+name+"'"); n != c.effects {
			t.Errorf("%s: got %d effects, want %d", name, n, c.effects)
		}
	}
}

// orderOf returns the order of a job, as PostgreSQL writes JSON.
func orderOf(row *rivertype.JobRow) string {
	_, order, _ := strings.Cut(string(row.EncodedArgs), `"order": "`)
	order, _, _ = strings.Cut(order, `"`)
	return order
}

// Jobs with a key of their arguments happen once together; other arguments under the key are refused.
func TestKeyOfArguments(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	jobs := s.jobs(t, &semelriver.Options{Key: orderOf})
	client, events, _ := s.start(t, &worker{jobs: jobs}, nil)
	for _, c := range []struct {
		args charge
		want river.EventKind
	}{
		{charge{Order: "a", Cents: 1}, river.EventKindJobCompleted},
		{charge{Order: "a", Cents: 1}, river.EventKindJobCompleted},
		{charge{Order: "a", Cents: 2}, river.EventKindJobCancelled},
		{charge{Order: "", Cents: 1}, river.EventKindJobCompleted}, // no key: not protected
		{charge{Order: "", Cents: 1}, river.EventKindJobCompleted},
	} {
		_, err := client.Insert(t.Context(), c.args, nil)
		claimtest.NoError(t, err)
		if e := <-events; e.Kind != c.want {
			t.Errorf("%+v: got %s, want %s", c.args, e.Kind, c.want)
		}
	}
	s.wantEffects(t, 3)
}

// WorkTx says that the middleware is in its way, instead of waiting for itself.
func TestWorkTxInsideOfMiddleware(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	jobs := s.jobs(t, nil)
	client, events, _ := s.start(t, &worker{jobs: jobs}, func(c *river.Config) { c.Middleware = []rivertype.Middleware{jobs} })
	_, err := s.insert(t.Context(), jobs, client, "k", charge{Order: "a", Rows: true}, &river.InsertOpts{MaxAttempts: 1})
	claimtest.NoError(t, err)
	if job := wantEvent(t, events, river.EventKindJobFailed); !strings.Contains(job.Errors[0].Error, "inside of the middleware") {
		t.Errorf("got %q", job.Errors[0].Error)
	}
}
