package pgstore

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/*.sql
var scripts embed.FS

// texts are the statements of sql/, by the name of their file without .sql, as
// this store sends them.
type texts map[string]string

// render reads the statements and fills them in.
func render(o *Options) (texts, error) {
	names, err := fs.Glob(scripts, "sql/*.sql")
	if err != nil {
		return nil, err
	}
	out, replacer := texts{}, o.replacer()
	for _, name := range names {
		script, err := scripts.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out[strings.TrimSuffix(path.Base(name), ".sql")] = replacer.Replace(withoutComments(string(script)))
	}
	return out, nil
}

// replacer fills in what differs between stores and servers:
//
//	{{schema}}    the quoted schema
//	{{schema_name}}, {{table}}, {{sequence}}  names, as texts
//	{{now}}       the store's clock in milliseconds; once in each statement
//	{{columns}}   what [row] reads, of the table called r
//	{{columns_listed}}  the same, with the outcome if $5
//	{{patience}}  how old a claim's statement may be when its row is written
//	{{grace}}     how many milliseconds a row stays after its claim
//	{{notify}}    wakes the waiters for r
//	{{place}}     the column by which a row that was just read is found again
func (o *Options) replacer() *strings.Replacer {
	notify, place := "pg_notify("+literal(channel(o.Schema))+", encode(r.digest, 'hex'))", "ctid"
	if o.plain {
		notify, place = "NULL", "digest"
	}
	return strings.NewReplacer(
		"{{schema}}", pgx.Identifier{o.Schema}.Sanitize(),
		"{{schema_name}}", literal(o.Schema),
		"{{table}}", literal(pgx.Identifier{o.Schema, "record"}.Sanitize()),
		"{{sequence}}", literal(pgx.Identifier{o.Schema, "fence"}.Sanitize()),
		"{{now}}", o.now,
		"{{columns}}", columns,
		"{{columns_listed}}", strings.Replace(columns, "r.outcome", "CASE WHEN $5::boolean THEN r.outcome END", 1),
		"{{patience}}", fmt.Sprintf("interval '%d milliseconds'", o.patience.Milliseconds()),
		"{{grace}}", strconv.FormatInt(grace.Milliseconds(), 10),
		"{{notify}}", notify,
		"{{place}}", place,
	)
}

// channel is the name under which settlements are notified.
func channel(schema string) string { return "semel_" + schema }

var escapes = strings.NewReplacer(`'`, `''`, `\`, `\\`) //nolint:gochecknoglobals // it is never changed.

// literal is a text as SQL has it.
func literal(s string) string { return "E'" + escapes.Replace(s) + "'" }

// withoutComments saves the server from reading them with every statement.
func withoutComments(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}
