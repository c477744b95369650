package dedupe

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/catalog"
)

// engine writes and does what differs between families of databases. All read names in double quotes, and $1 for the
// first argument of a statement.
type engine interface {
	values
	statements

	// settings are the statements that prepare a connection, begin the one that begins a transaction.
	settings() []string
	begin() string
	// own lets one process merge in a database at a time. It returns ErrBusy while there is another, and else how to end
	// that.
	own(ctx context.Context, s *dbSession) (release func(context.Context) error, err error)
	// ending is a query for the statement by which another connection ends what this one runs; "" where that ends with the process.
	ending() string
	// small prepares the connection for many small transactions.
	small() []string
	// ledger are the statements that make the tables of the tool; hasLedger is a query that says whether they are there.
	ledger() string
	hasLedger() string
	// mayMake is a query that says whether this user may make a table of the tool, if it is missing, and its indexes.
	mayMake(table string) string
	// identity names the database: another one with the same tables has another identity.
	identity(ctx context.Context, s *dbSession) (string, error)
	// links are the foreign keys of the database, in the names of the schema.
	links(ctx context.Context, s *dbSession, schema *catalog.Schema) ([]link, error)
	// fires calls add with what rows of a table fire, and what else reacts to them.
	fires(ctx context.Context, s *dbSession, add func(table, what string)) error
	// hidden says what refers to tables without this user being able to see it, or "".
	hidden(ctx context.Context, s *dbSession, site *site) (string, error)
	// announce are the statements that tell triggers the number of a run, and conclude those that end it.
	announce(run int64) []string
	conclude() []string
	// enforces says that the server checks references at the end of each statement; where it does not, they are not checked
	// while rows move, and a query looks for those that are broken.
	enforces() bool
	// bind writes the arguments of a statement as the driver takes them.
	bind(statement string, args []any) (string, []any)
	// followers is a query of the replicas: the name of each, and how many seconds it is behind, NULL where that is unknown.
	// Where the server does not know them, or hides them from this user, blind says so.
	followers() string
	blind(ctx context.Context, s *dbSession) (why string, err error)
	classify(err error) class
	// explain adds to an error of the server what it says of rows and rights.
	explain(err error) error
}

// values writes values as texts that bring them back as they were, whatever their type.
type values interface {
	literal(text string) string
	// differ holds when two lists of values are not exactly the same.
	differ(a, b []string) string
	// text is the value of a column as text, or NULL; value is the reverse.
	text(value string, c *catalog.Column) string
	value(text string, c *catalog.Column) string
	// array is a JSON array of texts, element one of them, counted from 0.
	array(values []string) string
	element(array string, i int) string
	// object is a JSON object of texts, member one of them or NULL.
	object(names, values []string) string
	member(object, name string) string
	// plain is a JSON object as text, moment a time as text.
	plain(object string) string
	moment(column string) string
	// keys are the arrays that a key of these values may be, the likely one first.
	keys(values []string) [][]string
	// decimal is an exact number, integer a whole one, length that of a text in characters.
	decimal(value string) string
	integer(value string) string
	length(value string) string
	// now is the value that marks a row at this time.
	now(c *catalog.Column) string
}

// statements writes the statements that differ as a whole.
type statements interface {
	// update sets columns of the table that alias names, with values from other tables.
	update(table, alias string, names, values []string, from, where string) string
	// remove deletes rows of a table by the condition of their fate f.
	remove(t *table, where string) string
	// locking ends a query that locks the rows of t.
	locking() string
	// createFate makes the table of fates anew, dropFate drops it where the connection's end does not.
	createFate(t *table) []string
	dropFate(t *table) string
	// empties begins the statement that empties a fate.
	empties() string
	// pairs selects the texts w and l of each pair in a JSON list.
	pairs(list string) string
	// once marks a query of WITH that is to run once; runOf is the number of the run, as a trigger reads it.
	once() string
	runOf() string
	// inOrder lets a query join its tables in the order in which it names them, where the planner may choose a bad one; behind joins
	// rows of the audit, b, after the tables before it, by a hash or an index that the server makes.
	inOrder() string
	behind(columns, where string) string
	// insert begins an INSERT that brings rows back, and that an obstacle refuses.
	insert(into string) string
}

func engineOf(d dialect.Dialect) engine {
	switch d {
	case dialect.MySQL:
		return mysqlEngine{}
	case dialect.SQLite:
		return sqliteEngine{}
	case dialect.PostgreSQL:
	}
	return postgresEngine{}
}

// key is the identity of a row of the table as text.
func (t *table) key(values []string) string {
	all := make([]string, len(t.id))
	for i, name := range t.id {
		all[i] = t.text(values[i], t.column(name))
	}
	return t.array(all)
}

// unkey are the values of a key.
func (t *table) unkey(key string) []string {
	all := make([]string, len(t.id))
	for i, name := range t.id {
		all[i] = t.value(t.element(key, i), t.column(name))
	}
	return all
}

// row is a JSON object of columns and their values as texts, past the value of a column in one.
func (t *table) row(names, values []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = t.text(values[i], t.column(name))
	}
	return t.object(names, all)
}

func (t *table) past(object, name string) string {
	return t.value(t.member(object, name), t.column(name))
}

func (t *table) column(name string) *catalog.Column {
	c, ok := t.catalog.Column(name)
	if !ok {
		return &catalog.Column{Name: name}
	}
	return c
}

func quote(name string) string { return dialect.PostgreSQL.Quote(name) }

func equal(a, b []string) string { return pairs(a, b, " = ", " AND ") }

func pairs(a, b []string, operator, glue string) string {
	all := make([]string, len(a))
	for i := range a {
		all[i] = a[i] + operator + b[i]
	}
	return strings.Join(all, glue)
}

// of returns the columns of an alias.
func of(alias string, names []string) []string {
	return texts.Of(names, func(name string) string { return alias + "." + quote(name) })
}

// as gives each value the name of a prefix and its number.
func as(values []string, prefix string) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = value + " AS " + prefix + strconv.Itoa(i+1)
	}
	return all
}

// numbered returns alias.prefix1, alias.prefix2 and so on; without the alias where it is "".
func numbered(alias, prefix string, n int) []string {
	if alias != "" {
		alias += "."
	}
	all := make([]string, n)
	for i := range all {
		all[i] = alias + prefix + strconv.Itoa(i+1)
	}
	return all
}

func list(parts ...[]string) string {
	var all []string
	for _, p := range parts {
		all = append(all, p...)
	}
	return strings.Join(all, ", ")
}

// groupsIn selects groups, of which many follow each other.
func groupsIn(column string, groups []int64) string {
	groups = slices.Sorted(slices.Values(groups))
	var ranges []string
	for from := 0; from < len(groups); {
		to := from
		for to+1 < len(groups) && groups[to+1] == groups[to]+1 {
			to++
		}
		ranges = append(ranges, column+" BETWEEN "+strconv.FormatInt(groups[from], 10)+" AND "+strconv.FormatInt(groups[to], 10))
		from = to + 1
	}
	return "(" + strings.Join(ranges, " OR ") + ")"
}

func apostrophes(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// rewrite replaces the arguments $1, $2 … of a statement, but not in texts and names.
func rewrite(statement string, argument func(n int) string) string {
	var b strings.Builder
	for i := 0; i < len(statement); i++ {
		c := statement[i]
		end := i + 1
		switch c {
		case '\'', '"', '`':
			if closing := strings.IndexByte(statement[i+1:], c); closing >= 0 {
				end = i + closing + 2
			}
		case '$':
			for end < len(statement) && statement[end] >= '0' && statement[end] <= '9' {
				end++
			}
			if n, err := strconv.Atoi(statement[i+1 : end]); err == nil {
				b.WriteString(argument(n))
				i = end - 1
				continue
			}
		}
		b.WriteString(statement[i:end])
		i = end - 1
	}
	return b.String()
}
