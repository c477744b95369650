package dedupe

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/catalog"
)

const (
	// maxTries bounds how often a batch is tried that other transactions keep from its rows.
	maxTries = 10
	// maxRounds bounds how deep collisions may cause others.
	maxRounds = 1000
)

// Options are the settings of [Database.Run] and [Database.Undo].
type Options struct {
	// By is the operator's name for the audit.
	By string
	// Limit bounds the losers of this call; 0 means no limit.
	Limit int
	// Pace leaves room for others.
	Pace
	// Progress receives how many losers are done, of how many, and why the next batch waits, "" if it does not. It may be nil.
	Progress func(done, all int, waits string)
}

// Report is the result of a run.
type Report struct {
	// Run is its number; 0 when there was nothing to do.
	Run int64 `json:"run"`
	// Merged counts the losers of this call, Open those that are left.
	Merged  int  `json:"merged"`
	Open    int  `json:"open"`
	Resumed bool `json:"resumed,omitempty"`
	// Refusals are groups that were left as they were.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Swept counts the rows that referred to merged ones although the merge was over, and do not any more; Late are the
	// groups in which such rows stay.
	Swept int64     `json:"swept,omitempty"`
	Late  []Refusal `json:"late,omitempty"`
}

// Refusal says why a group is left as it was.
type Refusal struct {
	Group  int64  `json:"group"`
	Winner string `json:"winner"`
	Reason string `json:"reason"`
}

// runner merges the groups of one run.
type runner struct {
	*dbSession
	*site

	run  int64
	opts *Options
	pace *pacer
	// answers are the winners and the rows whose values they take, by columns, in the batch.
	answers map[string][][2]string
	// met are the tables whose fates have rows in this batch, used those whose fates had any in this call: of hundreds of tables that
	// refer to the merged one, a batch meets few.
	met  map[*table]bool
	used []*table
	// swept is set while late rows are moved instead of groups.
	swept *sweep
	all   int
	done  int
	// last is the greatest group of the batches of this call: what is open follows it.
	last int64
}

// Run merges what a plan found, in batches that each commit. A run that ended early goes on where it was.
func (d *Database) Run(ctx context.Context, p *Plan, o *Options) (report *Report, err error) {
	s, err := d.openSession(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	found, err := s.compare(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := s.keep(ctx); err != nil {
		return nil, err
	}
	r := &runner{dbSession: s, site: found, opts: o, pace: &pacer{dbSession: s, Pace: o.Pace}}
	if err := r.pace.start(ctx); err != nil {
		return nil, err
	}
	report = &Report{}
	defer func() { err = errors.Join(err, r.leave(ctx)) }()
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if report.Resumed, err = r.start(ctx, p); err != nil {
		return nil, err
	}
	if err := r.execAll(ctx, r.small()); err != nil {
		return nil, err
	}
	if report.Run = r.run; r.run != 0 {
		err = r.batches(ctx)
		report.Merged = r.done
		if err == nil {
			err = r.finish(ctx, report)
		}
		if err != nil {
			return report, err
		}
	}
	swept, err := r.sweepAll(ctx)
	if swept != nil {
		report.Swept, report.Late = swept.moved, swept.refused
	}
	return report, err
}

// prepare makes the fates, and refuses to delete what a column may name that was not declared, and a user who may not change a
// table as the run will.
func (r *runner) prepare(ctx context.Context) error {
	if err := r.undeclared(); err != nil {
		return err
	}
	for _, t := range r.tables {
		if err := r.execAll(ctx, r.createFate(t)); err != nil {
			return fmt.Errorf("prepare %s: %w", t.name, r.explain(err))
		}
	}
	for _, w := range slices.Concat(r.marks(), r.yieldings(), r.moves(), r.fillings()) {
		err := r.each(ctx, "EXPLAIN "+w.statement, []any{r.run}, func(*sql.Rows) error { return nil })
		if _, isRefused := dialect.Refused(err); isRefused {
			return refuse("rows of %s cannot be changed: %w", w.name, r.explain(err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leave drops what a run made for itself.
func (r *runner) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	r.stopped()
	for _, t := range r.tables {
		if statement := r.dropFate(t); statement != "" {
			if _, err := r.conn.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare refuses a plan of another database, or of an older schema.
func (s *dbSession) compare(ctx context.Context, p *Plan) (*site, error) {
	if p.Dialect != s.Dialect.String() {
		return nil, refuse("the plan is for %s, and the database is %s (name the database of the plan with --dsn, or plan again for this one)", p.Dialect, s.Dialect)
	}
	id, err := s.identity(ctx, s)
	if err != nil {
		return nil, err
	}
	if id != p.Database {
		return nil, refuse("the plan was made for another database (plan again for this one)")
	}
	schema, err := catalog.Read(ctx, s.DB, s.Dialect)
	if err != nil {
		return nil, err
	}
	found, err := s.survey(ctx, schema, &p.Request)
	if err != nil {
		return nil, err
	}
	root, index := found.tables[0].name, p.Request.Index // the plan knows of the unique index to come, and of its columns in MySQL
	now := slices.DeleteFunc(found.describe(), func(line string) bool {
		return !slices.Contains(p.Schema, line) && (strings.HasPrefix(line, "key "+index+" of ") || strings.HasPrefix(line, "column "+root+".semel_"+index+"_"))
	})
	if change := drift(p.Schema, now); change != "" {
		return nil, refuse("the schema has changed since the plan was made: %s (plan again)", change)
	}
	return found, nil
}

// errNothing takes back a run that has nothing to do.
var errNothing = errors.New("no duplicates were found")

// start begins a run, or goes on with the one of the same plan that did not end.
func (r *runner) start(ctx context.Context, p *Plan) (resumed bool, err error) {
	text, err := json.Marshal(p)
	if err != nil {
		return false, err
	}
	var other string
	err = r.one(ctx, "SELECT id, plan FROM semel_dedupe_run WHERE tbl = $1 AND finished_at IS NULL AND undone_at IS NULL", []any{r.tables[0].name}, &r.run, &other)
	switch {
	case err == nil && other == string(text):
		return true, r.count(ctx)
	case err == nil:
		return false, refuse("run %d of another plan for %s has not ended (run its plan again, or undo it: semel dedupe undo %d)", r.run, r.tables[0].name, r.run)
	case !errors.Is(err, sql.ErrNoRows):
		return false, err
	}
	err = r.within(ctx, func() error {
		//semel:safe one process at a time has the lock of the session, and goes on with a run that is open
		if _, err := r.exec(ctx, "INSERT INTO semel_dedupe_run (name, tbl, plan, started_by) VALUES ($1, $2, $3, $4)", r.request.Name, r.tables[0].name, string(text), r.opts.By); err != nil {
			return err
		}
		if err := r.one(ctx, "SELECT max(id) FROM semel_dedupe_run", nil, &r.run); err != nil {
			return err
		}
		//semel:safe the run is new, and commits with its map
		n, err := r.exec(ctx, r.insertMap(), r.run)
		if err == nil && n == 0 {
			err = errNothing
		}
		return err
	})
	if errors.Is(err, errNothing) {
		r.run = 0
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for duplicates: %w", r.written(err))
	}
	return false, r.count(ctx)
}

func (r *runner) count(ctx context.Context) error {
	return r.one(ctx, "SELECT count(*) FROM semel_dedupe_map WHERE run = $1 AND state = 0", []any{r.run}, &r.all)
}

// group is a group of the map that is open.
type group struct {
	number int64
	losers int
}

// next returns the groups of the next batch: whole ones.
func (r *runner) next(ctx context.Context) ([]group, error) {
	var groups []group
	most := r.pace.most()
	if r.opts.Limit > 0 {
		most = min(most, r.opts.Limit-r.done)
	}
	losers := 0
	err := r.each(ctx, "SELECT grp, count(*) FROM (SELECT grp FROM semel_dedupe_map WHERE run = $1 AND grp > $2 AND state = 0 ORDER BY grp LIMIT "+strconv.Itoa(most+1)+
		") AS m GROUP BY grp ORDER BY grp", []any{r.run, r.last}, func(rows *sql.Rows) error {
		var g group
		err := rows.Scan(&g.number, &g.losers)
		groups = append(groups, g)
		losers += g.losers
		return err
	})
	switch last := len(groups) - 1; {
	case err != nil || losers <= most:
		return groups, err
	case last > 0:
		return groups[:last], nil // the last one may be cut
	}
	return groups, r.one(ctx, "SELECT count(*) FROM semel_dedupe_map WHERE run = $1 AND grp = $2 AND state = 0", []any{r.run, groups[0].number}, &groups[0].losers)
}

// batches merges one batch after the other.
func (r *runner) batches(ctx context.Context) error {
	for {
		r.progress("")
		if r.opts.Limit > 0 && r.done >= r.opts.Limit {
			return nil
		}
		groups, err := r.next(ctx)
		if err != nil || len(groups) == 0 {
			return err
		}
		if err := r.pace.wait(ctx, r.progress); err != nil {
			return err
		}
		if err := r.pace.during(func() error { return r.attempt(ctx, groups) }); err != nil {
			return err
		}
		r.last = groups[len(groups)-1].number
	}
}

func (r *runner) progress(waits string) {
	if r.opts.Progress != nil {
		r.opts.Progress(r.done, r.all, waits)
	}
}

// refusedError names groups that must be left as they are.
type refusedError struct{ reasons map[int64]string }

// Error implements error.
func (e *refusedError) Error() string { return fmt.Sprintf("%d groups are refused", len(e.reasons)) }

// attempt merges groups. Those that cannot be merged are refused, each with its reason, and the others are merged.
func (r *runner) attempt(ctx context.Context, groups []group) error {
	for tries := 0; len(groups) > 0; {
		err := r.within(ctx, func() error { return r.merge(ctx, groups) })
		refused, isRefusal := errors.AsType[*refusedError](err)
		switch {
		case err == nil:
			for _, g := range groups {
				r.done += g.losers
			}
			return nil
		case isRefusal:
			if err := r.refuse(ctx, refused.reasons); err != nil {
				return err
			}
			left := slices.DeleteFunc(slices.Clone(groups), func(g group) bool { return refused.reasons[g.number] != "" })
			if len(left) == len(groups) {
				return fmt.Errorf("a group outside of the batch is refused: %v", refused.reasons)
			}
			groups = left
		case r.classify(err) == transient && tries < maxTries:
			tries++
			if err := pause(ctx, time.Duration(tries)*100*time.Millisecond); err != nil {
				return err
			}
		case r.classify(err) == ofRows && len(groups) > 1:
			half := len(groups) / 2
			return errors.Join(r.attempt(ctx, groups[:half:half]), r.attempt(ctx, groups[half:]))
		case r.classify(err) == ofRows:
			return r.refuse(ctx, map[int64]string{groups[0].number: r.explain(err).Error()})
		default:
			return fmt.Errorf("merge group %d and those after it: %w (nothing of them was changed; run the plan again to go on)", groups[0].number, r.explain(err))
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// refuse leaves groups as they are.
func (r *runner) refuse(ctx context.Context, reasons map[int64]string) error {
	if r.swept != nil {
		maps.Copy(r.swept.reasons, reasons)
		return nil
	}
	for number, reason := range reasons {
		if _, err := r.exec(ctx, "UPDATE semel_dedupe_map SET state = 2, reason = $3 WHERE run = $1 AND grp = $2 AND state = 0", r.run, number, reason); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the run if nothing is open, and completes the report.
func (r *runner) finish(ctx context.Context, report *Report) error {
	if err := r.one(ctx, "SELECT count(*) FROM semel_dedupe_map WHERE run = $1 AND state = 0", []any{r.run}, &report.Open); err != nil {
		return err
	}
	if report.Open == 0 {
		//semel:safe the second run finds the time set
		if _, err := r.exec(ctx, "UPDATE semel_dedupe_run SET finished_at = "+r.clock()+" WHERE id = $1 AND finished_at IS NULL", r.run); err != nil {
			return err
		}
	}
	return r.each(ctx, "SELECT grp, min(winner), min(reason) FROM semel_dedupe_map WHERE run = $1 AND state = 2 GROUP BY grp ORDER BY grp", []any{r.run}, func(rows *sql.Rows) error {
		var one Refusal
		if err := rows.Scan(&one.Group, &one.Winner, &one.Reason); err != nil {
			return err
		}
		report.Refusals = append(report.Refusals, one)
		return nil
	})
}
