package plan

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/schema/catalog"
)

const maxMySQLName = 64

// canHide reports whether columns can be left out of SELECT * and of INSERT
// without a list of columns. Every MariaDB that is still looked after can.
func (m *maker) canHide() bool { return m.isMariaDB() || m.atLeast(8, 0, 23) }

// shorten cuts a name to the length that the server has, and keeps it apart
// from others that begin the same.
func shorten(name string, most int) string {
	if len(name) <= most {
		return name
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // it never returns an error
	tail := "_" + strconv.FormatUint(uint64(sum.Sum32()), 36)
	return strings.ToValidUTF8(name[:most-len(tail)], "") + tail
}

// addMySQL adds a part: the column itself, or a generated column where the part
// is an expression, or where the column's collation makes different texts the
// same.
func (m *maker) addMySQL(s *shape, p part, column *catalog.Column) *Refusal {
	_, isColumn := p.expr.Column()
	if isColumn && (!column.Loose || p.expr.IsCollated()) {
		if isUnbounded(column) {
			return refusal("make it VARCHAR of at most 768 characters, or add a column with a hash of it",
				"%s.%s is %s, of which an index keeps only the first bytes", s.table.Name, column.Name, column.Type)
		}
		p.sql = p.value
		s.parts = append(s.parts, p)
		return nil
	}
	kind, text := generatedType(p.expr, column)
	if text && isUnbounded(column) {
		return refusal("make it VARCHAR of at most 768 characters",
			"%s.%s is %s, of which an index keeps only the first bytes", s.table.Name, column.Name, column.Type)
	}
	if p.expr.IsCollated() {
		kind, text = kind+collated(column.Collation), false
	}
	if text {
		kind += " CHARACTER SET utf8mb4 COLLATE " + m.exactCollation()
		p.value = "CONVERT(" + p.value + " USING utf8mb4) COLLATE " + m.exactCollation()
	}
	s.addGenerated(p, kind, text)
	return nil
}

// exactCollation distinguishes all texts, even by trailing spaces.
func (m *maker) exactCollation() string {
	switch {
	case m.isMariaDB():
		return "utf8mb4_nopad_bin"
	case m.atLeast(8, 0, 17):
		return "utf8mb4_0900_bin"
	}
	return "utf8mb4_bin" // with spaces at the end or without is the same there
}

func isUnbounded(c *catalog.Column) bool {
	kind := strings.ToLower(c.Type)
	return strings.HasSuffix(kind, "text") || strings.HasSuffix(kind, "blob") || kind == "json"
}

// generatedType is the type of a generated column, and whether it holds text.
func generatedType(expr expression.Expr, column *catalog.Column) (kind string, text bool) {
	functions := expr.Functions()
	if len(functions) > 0 && functions[0] == "coalesce" {
		functions = functions[1:]
	}
	if len(functions) > 0 {
		switch functions[0] {
		case "year", "month", "day", "hour":
			return "int", false
		case "date":
			return "date", false
		case "is_null":
			return "tinyint", false
		}
	}
	if column.Collation == "" {
		return column.Type, false
	}
	length := "(255)"
	if i := strings.IndexByte(column.Type, '('); i >= 0 && !strings.HasPrefix(strings.ToLower(column.Type), "enum") {
		length = column.Type[i:]
	}
	return "varchar" + length, true
}

// addGenerated adds a part that is a generated column. exact says that its value
// was wrapped to compare exactly, which the column does by its collation.
func (s *shape) addGenerated(p part, kind string, exact bool) {
	p.definition = p.value
	if exact {
		p.definition = strings.TrimPrefix(p.value[:strings.LastIndex(p.value, " USING utf8mb4)")], "CONVERT(")
	}
	p.column = s.generatedName(len(s.parts) + 1)
	p.kind = kind
	p.sql = s.dialect.Quote(p.column)
	s.parts = append(s.parts, p)
}

// mysql writes the statements for MySQL and MariaDB.
func (m *maker) mysql(ctx context.Context, step *RuleStep, s *shape, nullable []string) error {
	step.session("Do not let others queue behind this for long: they go on after it.",
		"SET SESSION lock_wait_timeout = "+seconds(m.opts.LockTimeout))
	if !s.table.Transactional() {
		convert := "ALTER TABLE " + s.path + " ENGINE="
		step.up("The engine "+s.table.Engine+" has no transactions: no guard can lock its rows, and what fails half-way stays. The table is copied: others read, and writers wait.",
			convert+"InnoDB")
		defer func(engine string) { step.Down = append(step.Down, Statement{SQL: convert + engine}) }(s.table.Engine)
	}
	for _, name := range nullable {
		if err := m.mysqlNotNull(ctx, step, s, name); err != nil {
			return err
		}
	}
	if s.enforced() {
		return nil
	}
	if strings.EqualFold(s.index, "PRIMARY") {
		step.Refused = refusal("write another index: into the rule, or change the primary key by hand",
			"the primary key of %s enforces something else, and references and other indexes hang on it", s.display)
		return nil
	}
	var added []string
	for _, p := range s.parts {
		if p.column != "" {
			added = append(added, m.mysqlColumn(step, s, p))
		}
	}
	alter := "ALTER TABLE " + s.path
	name := s.dialect.Quote(s.index)
	drop := ""
	if old, ok := s.table.Index(s.index); ok {
		drop = " DROP INDEX " + s.dialect.Quote(old.Name) + ","
		step.lost(old)
	}
	step.up("Without copying the table, and while others read and write.",
		alter+drop+" ADD UNIQUE INDEX "+name+" ("+s.keys()+"), ALGORITHM=INPLACE, LOCK=NONE")
	undo := []string{" DROP INDEX " + name}
	for _, column := range added {
		undo = append(undo, " DROP COLUMN "+s.dialect.Quote(column))
	}
	step.Down = append([]Statement{{SQL: alter + strings.Join(undo, ",")}}, step.Down...)
	return nil
}

// mysqlColumn adds a generated column, unless an interrupted plan left it.
func (m *maker) mysqlColumn(step *RuleStep, s *shape, p part) string {
	invisible := ""
	if m.canHide() {
		invisible = " INVISIBLE"
	}
	if _, there := s.table.Column(p.column); !there {
		comment := "All versions can index an expression as a generated column, which takes no room."
		if _, isColumn := p.expr.Column(); isColumn {
			comment = "The collation of " + p.expr.String() + " takes different texts for the same; that of this column does not, and it takes no room."
		}
		if p.live {
			comment = "Instead of a partial index, which does not exist here, this column is 1 for rows that count, and NULL, which collides with nothing, for others."
		}
		add := "ALTER TABLE " + s.path + " ADD COLUMN " + s.dialect.Quote(p.column) + " " + p.kind + " GENERATED ALWAYS AS (" + p.definition + ") VIRTUAL" + invisible
		if s.table.Kind == catalog.Partitioned { // error 1846
			step.Refused = refusal("run "+add+", ALGORITHM=COPY while nothing writes, then go on",
				"the rule needs a generated column, which the server adds to the partitioned table %s only by copying it", s.display)
		}
		step.up(comment, add+", ALGORITHM=INSTANT")
	}
	return p.column
}

// mysqlNotNull makes a column NOT NULL, with everything else as it is.
func (m *maker) mysqlNotNull(ctx context.Context, step *RuleStep, s *shape, name string) error {
	definition, err := m.mysqlDefinition(ctx, s, name)
	if err != nil {
		return err
	}
	modify := "ALTER TABLE " + s.path + " MODIFY COLUMN "
	comment, how := "The rule forbids NULL. The table is rebuilt while others read and write.", ", ALGORITHM=INPLACE, LOCK=NONE"
	if generatesFrom(s.table, name) {
		comment = "The rule forbids NULL. A generated column reads this one, so the server copies the table: others read, and writers wait."
		how = ", ALGORITHM=COPY, LOCK=SHARED"
	}
	step.up(comment, modify+notNull(definition)+how)
	step.Down = append(step.Down, Statement{SQL: modify + definition + how})
	return nil
}

// generatesFrom reports whether a generated column is made from the column.
func generatesFrom(t *catalog.Table, name string) bool {
	quoted := strings.ToLower(dialect.MySQL.Quote(name))
	return slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return strings.Contains(strings.ToLower(c.Generated), quoted) })
}

// notNull adds NOT NULL to the definition of a column that can be NULL.
func notNull(definition string) string {
	if cut := strings.Replace(definition, " DEFAULT NULL", " NOT NULL", 1); cut != definition {
		return cut
	}
	if cut := strings.Replace(definition, " NULL", " NOT NULL", 1); cut != definition { // timestamps say it
		return cut
	}
	return definition + " NOT NULL"
}

// mysqlDefinition is the column as the server itself would write it.
func (m *maker) mysqlDefinition(ctx context.Context, s *shape, name string) (string, error) {
	var table, text string
	if err := m.db.QueryRowContext(ctx, "SHOW CREATE TABLE "+s.path).Scan(&table, &text); err != nil {
		return "", fmt.Errorf("read how %s was made: %w", s.display, err)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(strings.TrimSpace(line), ",")
		if strings.HasPrefix(line, dialect.MySQL.Quote(name)+" ") {
			return line, nil
		}
	}
	return "", errors.New("the server does not say how the column " + name + " of " + s.display + " was made")
}

func seconds(d time.Duration) string { return strconv.FormatInt(max(1, int64(d.Seconds())), 10) }
