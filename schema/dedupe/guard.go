package dedupe

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/internal/plan"
)

// Guard is a guard as the database knows it: triggers that refuse new duplicates while the old ones are there, and that let
// new references to merged rows refer to the rows that have their place.
type Guard struct {
	Guard     int64      `json:"guard"`
	Name      string     `json:"name"`
	Table     string     `json:"table"`
	Started   time.Time  `json:"started"`
	By        string     `json:"by"`
	Installed *time.Time `json:"installed,omitempty"`
	// State is installed, incomplete (an interrupted call left it: install or remove it again) or damaged (it lacks triggers).
	State string `json:"state"`
	// Triggers are the tables and triggers that are there and enabled.
	Triggers []string `json:"triggers,omitempty"`
	// Notes say what it does not do here.
	Notes []string `json:"notes,omitempty"`
}

// guardPrefix begins the names of all objects of guards.
const guardPrefix = "semel_dedupe_guard_"

// guarding installs or removes the guard of one rule.
type guarding struct {
	*dbSession
	*site

	rule     *rules.Unique
	grouping *plan.Grouping
	// base begins the names of this guard's objects, and comment is on its functions.
	base, comment string
	id            int64
	// path lists the schemas in which names of the rule are looked for; hashes says that its values can be hashed.
	path   string
	hashes bool
	// kinds are the types of the values of the rule in MySQL.
	kinds []string
	// prepared says that the session has the tables of a sweep.
	prepared bool
}

// object is a trigger of a guard, with its function where it has one.
type object struct {
	name, table      string // of the trigger; the table is for people
	function, create string // SQL
	trigger          string
}

// keeper makes and drops the objects of guards in one family of databases.
type keeper interface {
	// ledger are the statements that make the tables of guards; hasGuards is a query that says whether they are there.
	ledger() string
	hasGuards() string
	// lookup makes what the triggers find rows by, without stopping writers.
	lookup(ctx context.Context, g *guarding) error
	// objects are those of a guard.
	objects(g *guarding) []object
	// allowed refuses what would leave half of a guard: rights that are missing, and objects of others by the same names.
	allowed(ctx context.Context, g *guarding) error
	// owned refuses a user who may not make an index of the table.
	owned(ctx context.Context, g *guarding) error
	// create makes an object in the transaction of the session, unless it is there.
	create(ctx context.Context, g *guarding, one object) error
	// triggers are those of a guard that are there and enabled.
	triggers(ctx context.Context, s *dbSession, one *Guard) ([]string, error)
	// drop drops the objects of a guard, and its index.
	drop(ctx context.Context, s *dbSession, one *Guard) error
	// dropIndex drops an index of a table, if it is there; with invalid, only one that enforces nothing.
	dropIndex(ctx context.Context, s *dbSession, table, name string, invalid bool) error
	// relation returns the table or index that already has the name we want for an index of t; "" for none.
	relation(ctx context.Context, s *dbSession, t *table, name string) (string, error)
	// notes say what the guard does not do here.
	notes(ctx context.Context, g *guarding) ([]string, error)
	// brief begins a transaction whose locks others wait behind; resetTimeouts undoes what a step set.
	brief() []string
	resetTimeouts() []string
}

func (d *Database) keeper() keeper {
	switch d.Dialect {
	case dialect.MySQL:
		return mysqlKeeper{}
	case dialect.SQLite:
		return sqliteKeeper{}
	case dialect.PostgreSQL:
	}
	return postgresKeeper{}
}

// newGuarding compares the plan with the database.
func (s *dbSession) newGuarding(ctx context.Context, p *Plan) (*guarding, error) {
	u, err := p.unique()
	if err != nil {
		return nil, err
	}
	found, err := s.compare(ctx, p)
	if err != nil {
		return nil, err
	}
	schema, err := catalog.Read(ctx, s.DB, s.Dialect)
	if err != nil {
		return nil, err
	}
	grouping, refused := plan.Group(schema, u)
	if refused != nil {
		return nil, refuse("%s (%s)", refused.Why, refused.Fix)
	}
	return &guarding{dbSession: s, site: found, rule: u, grouping: grouping, base: guardName(u.Name), comment: guardComment(u.Name, p.Request.Table)}, nil
}

// guardName is the name that objects of a rule's guard begin with; it leaves room for what follows.
func guardName(rule string) string {
	name := guardPrefix + rule
	return name[:min(len(name), maxGuardName)]
}

// maxGuardName bounds the bytes of the name of a guard.
const maxGuardName = 48

func guardComment(rule, table string) string {
	return "semel dedupe guard: rule " + rule + " of " + table
}

// InstallGuard installs the guard for the rule of a plan. An interrupted installation, or one that lost triggers, is completed.
func (d *Database) InstallGuard(ctx context.Context, p *Plan, o *Options) (report *Guard, err error) {
	err = d.locked(ctx, func(s *dbSession) error {
		g, err := s.newGuarding(ctx, p)
		if err != nil {
			return err
		}
		if err := g.keeper().allowed(ctx, g); err != nil {
			return err
		}
		if err := s.keep(ctx); err != nil {
			return err
		}
		if err := g.install(ctx, p, o.By); err != nil {
			return err
		}
		report, err = g.report(ctx)
		return err
	})
	return report, err
}

// locked calls work in a session that excludes those of others.
func (d *Database) locked(ctx context.Context, work func(*dbSession) error) (err error) {
	s, err := d.openSession(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.lock(ctx); err != nil {
		return err
	}
	return work(s)
}

// install makes what is missing: first the note, so that what an interrupted call leaves is known, and then one table after the other.
func (g *guarding) install(ctx context.Context, p *Plan, by string) error {
	if err := g.begin(ctx, p, by); err != nil {
		return err
	}
	if err := g.keeper().lookup(ctx, g); err != nil {
		return err
	}
	for _, one := range g.keeper().objects(g) {
		if err := g.briefly(ctx, "install the guard on "+one.table, func() error { return g.keeper().create(ctx, g, one) }); err != nil {
			return err
		}
	}
	//semel:safe the second run leaves the time as it is
	_, err := g.exec(ctx, "UPDATE semel_dedupe_guard SET installed_at = coalesce(installed_at, "+g.clock()+"), triggers = $2 WHERE id = $1", g.id, len(g.keeper().objects(g)))
	return err
}

// begin notes the guard, unless it is noted.
func (g *guarding) begin(ctx context.Context, p *Plan, by string) error {
	if err := g.guardLedger(ctx); err != nil {
		return err
	}
	var kept string
	err := g.one(ctx, "SELECT id, plan FROM semel_dedupe_guard WHERE tbl = $1 AND name = $2 AND removed_at IS NULL", []any{p.Request.Table, p.Request.Name}, &g.id, &kept)
	switch {
	case err == nil:
		var other Plan
		if err := json.Unmarshal([]byte(kept), &other); err != nil || !sameRule(&other, p) {
			return refuse("the guard %d of another rule by the name %s is on %s (remove it first: semel dedupe guard --remove)", g.id, p.Request.Name, p.Request.Table)
		}
		return nil
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	//semel:safe one process at a time has the lock of the session
	return g.one(ctx, "INSERT INTO semel_dedupe_guard (name, tbl, plan, triggers, started_by) VALUES ($1, $2, $3, $4, $5) RETURNING id",
		[]any{p.Request.Name, p.Request.Table, string(text), len(g.keeper().objects(g)), by}, &g.id)
}

// sameRule reports whether two plans find the same rows the same, by an index of the same name.
func sameRule(a, b *Plan) bool {
	return strings.Join(a.Request.Terms, "\x01") == strings.Join(b.Request.Terms, "\x01") && a.Request.Where == b.Request.Where && a.Request.Index == b.Request.Index
}

// index makes the index by which the guard finds rows.
func (g *guarding) index(ctx context.Context) error {
	step, err := plan.Lookup(ctx, g.DB, g.Dialect, g.rule, g.base+"_index")
	if err != nil {
		return g.explain(err)
	}
	if step.Refused != nil {
		return refuse("%s (%s)", step.Refused.Why, step.Refused.Fix)
	}
	return g.statements(ctx, step)
}

// statements runs those of a step.
func (s *dbSession) statements(ctx context.Context, step *plan.RuleStep) error {
	for _, statement := range step.Up {
		if _, err := s.exec(ctx, statement.SQL); err != nil {
			return fmt.Errorf("%s: %w", statement.SQL, s.explain(err))
		}
	}
	return s.execAll(ctx, s.keeper().resetTimeouts())
}

// RemoveGuard removes the guard of a rule, or the only one where the name is "". It returns nil where there is none.
func (d *Database) RemoveGuard(ctx context.Context, rule, table string) (removed *Guard, err error) {
	err = d.locked(ctx, func(s *dbSession) error {
		all, err := s.guards(ctx)
		if err != nil {
			return err
		}
		var names []string
		for i := range all {
			if one := &all[i]; rule == "" || one.Name == rule && one.Table == table {
				names, removed = append(names, one.Name), one
			}
		}
		if len(names) > 1 {
			return refuse("there are %d guards, of the rules %s (name the plan of one)", len(names), strings.Join(names, ", "))
		}
		if removed == nil {
			return nil
		}
		return s.removeGuard(ctx, removed)
	})
	return removed, err
}

// removeGuard drops what a guard has, and notes it.
func (s *dbSession) removeGuard(ctx context.Context, one *Guard) error {
	if err := s.keeper().drop(ctx, s, one); err != nil {
		return err
	}
	//semel:safe one process at a time has the lock of the session
	_, err := s.exec(ctx, "UPDATE semel_dedupe_guard SET removed_at = "+s.clock()+" WHERE id = $1", one.Guard)
	return err
}

// Guards lists the guards that are there, the last one first.
func (d *Database) Guards(ctx context.Context) (all []Guard, err error) {
	err = d.read(ctx, func(s *dbSession) error {
		all, err = s.guards(ctx)
		return err
	})
	return all, err
}

func (s *dbSession) guards(ctx context.Context) ([]Guard, error) {
	has, err := s.hasGuards(ctx)
	if err != nil || !has {
		return nil, err
	}
	var all []Guard
	var wanted []int
	err = s.each(ctx, "SELECT id, name, tbl, "+s.moment("started_at")+", started_by, "+s.moment("installed_at")+", triggers FROM semel_dedupe_guard WHERE removed_at IS NULL ORDER BY id DESC", nil, func(rows *sql.Rows) error {
		var one Guard
		var triggers int
		var started, installed sql.NullString
		err := rows.Scan(&one.Guard, &one.Name, &one.Table, &started, &one.By, &installed, &triggers)
		one.Started, one.Installed = momentOf(started), timeOf(installed)
		all, wanted = append(all, one), append(wanted, triggers)
		return err
	})
	for i := range all {
		one := &all[i]
		if err == nil {
			one.Triggers, err = s.keeper().triggers(ctx, s, one)
		}
		switch {
		case one.Installed == nil:
			one.State = "incomplete"
		case len(one.Triggers) < wanted[i]:
			one.State = "damaged"
		default:
			one.State = "installed"
		}
	}
	return all, err
}

// report is the guard that was just installed.
func (g *guarding) report(ctx context.Context) (*Guard, error) {
	all, err := g.guards(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if one := &all[i]; one.Guard == g.id {
			one.Notes, err = g.keeper().notes(ctx, g)
			return one, err
		}
	}
	return nil, errors.New("the guard was removed while it was installed")
}

// maxBrief bounds how often a statement is tried that others wait behind.
const maxBrief = 20

// briefly runs work in a transaction that does not wait long for locks, because others wait behind it. It is tried again.
func (s *dbSession) briefly(ctx context.Context, what string, work func() error) error {
	for tries := 1; ; tries++ {
		err := s.within(ctx, func() error {
			if err := s.execAll(ctx, s.keeper().brief()); err != nil {
				return err
			}
			return work()
		})
		switch {
		case err == nil:
			return nil
		case s.classify(err) != transient:
			return fmt.Errorf("%s: %w", what, s.explain(err))
		case tries == maxBrief:
			return refuse("%s: other transactions hold locks of it all the time (end the long ones, and call again): %w", what, err)
		}
		if err := pause(ctx, time.Duration(tries)*50*time.Millisecond); err != nil {
			return err
		}
	}
}

// redirectName is the name of the trigger for a reference.
func (g *guarding) redirectName(e *edge) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(e.child.name + "\x01" + strings.Join(e.cols, "\x01") + "\x01" + e.parent.name)) // it never returns an error
	return g.base + "_to_" + strconv.FormatUint(uint64(sum.Sum32()), 36)
}

func (g *guarding) pathOf(name string) string {
	i := slices.IndexFunc(g.tables, func(t *table) bool { return t.name == name })
	return g.tables[i].path
}

func (s *dbSession) hasGuards(ctx context.Context) (has bool, err error) {
	err = s.one(ctx, s.keeper().hasGuards(), nil, &has)
	return has, err
}
