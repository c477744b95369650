package live

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel/internal/dialect"
)

// mysql reads what SHOW CREATE says of the tables, views and triggers of the database.
func (r *reader) mysql(ctx context.Context) error {
	err := r.eachRow(ctx, "SELECT COALESCE(DATABASE(), ''), @@GLOBAL.sql_mode", func(rows *sql.Rows) error { return rows.Scan(&r.schema.Database, &r.schema.Mode) })
	if err != nil {
		return err
	}
	if r.schema.Database == "" {
		return errors.New("the DSN names no database: write …/database at its end")
	}
	// The rights of a session are those of its last USE: later ones are in the grants, but hide triggers still.
	if _, err := r.tx.ExecContext(ctx, "USE "+dialect.MySQL.Quote(r.schema.Database)); err != nil {
		return err
	}
	restore, err := r.quoting(ctx)
	if err != nil {
		return err
	}
	return errors.Join(r.mysqlObjects(ctx), restore())
}

// quoting makes the server quote names as the parser reads them, whatever its defaults, until restore.
func (r *reader) quoting(ctx context.Context) (restore func() error, err error) {
	var mode string
	var quote int
	err = r.eachRow(ctx, "SELECT @@SESSION.sql_mode, @@SESSION.sql_quote_show_create", func(rows *sql.Rows) error { return rows.Scan(&mode, &quote) })
	if err != nil {
		return nil, err
	}
	set := func(ctx context.Context, mode string, quote int) error {
		_, err := r.tx.ExecContext(ctx, fmt.Sprintf("SET SESSION sql_mode = '%s', SESSION sql_quote_show_create = %d", strings.ReplaceAll(mode, "'", ""), quote))
		return err
	}
	return func() error { return set(context.WithoutCancel(ctx), mode, quote) }, set(ctx, "", 1)
}

func (r *reader) mysqlObjects(ctx context.Context) error {
	var objects [][2]string // kind and name
	var hidden []string     // tables whose triggers this user may not see
	err := r.query(ctx, "mysql_tables", func(rows *sql.Rows) error {
		var name, kind string
		var seen bool
		if err := rows.Scan(&name, &kind, &seen); err != nil {
			return err
		}
		view := strings.Contains(kind, "VIEW")
		objects = append(objects, [2]string{map[bool]string{true: "view", false: "table"}[view], name})
		if !seen && !view {
			hidden = append(hidden, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = r.query(ctx, "mysql_triggers", func(rows *sql.Rows) error {
		var name string
		defer func() { objects = append(objects, [2]string{"trigger", name}) }()
		return rows.Scan(&name)
	})
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := r.show(ctx, o[0], o[1]); err != nil {
			return err
		}
	}
	if len(hidden) > 0 {
		r.unread("the triggers of table "+hidden[0], fmt.Sprintf("this user may not see them (GRANT TRIGGER ON %s.* TO it)", dialect.MySQL.Quote(r.schema.Database)))
	}
	return nil
}

// show reads one definition. One that this user may not see is noted.
func (r *reader) show(ctx context.Context, kind, name string) error {
	text, mode := "", ""
	err := r.eachRow(ctx, "SHOW CREATE "+strings.ToUpper(kind)+" "+dialect.MySQL.Quote(name), func(rows *sql.Rows) error {
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		// The statement is the second column of tables and views, and the third of triggers.
		values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i, column := range columns {
			if strings.HasPrefix(column, "Create ") || column == "SQL Original Statement" {
				text = values[i].String
			}
			if column == "sql_mode" {
				mode = values[i].String
			}
		}
		return nil
	})
	var refused *mysql.MySQLError
	switch {
	case errors.As(err, &refused):
		r.unread(kind+" "+name, refused.Message)
	case err != nil:
		return fmt.Errorf("%s %s: %w", kind, name, err)
	case text == "":
		r.unread(kind+" "+name, "this user may not see its definition")
	case strings.Contains(mode, "ANSI_QUOTES") || strings.Contains(mode, "PIPES_AS_CONCAT") || strings.Contains(mode, "NO_BACKSLASH_ESCAPES"):
		r.unread(kind+" "+name, "it is written in the SQL mode "+mode)
	default:
		r.add(kind+" "+name, text)
	}
	return nil
}
