package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
)

// Format is a way to write a plan down.
type Format string

// The formats.
const (
	// SQL is plain SQL; the undo is in comments at the end.
	SQL Format = "sql"
	// Goose is one migration of pressly/goose.
	Goose Format = "goose"
	// GolangMigrate is a pair of files for each statement, for
	// golang-migrate/migrate: it sends a file as one, and PostgreSQL takes several
	// statements in one for a transaction.
	GolangMigrate Format = "golang-migrate"
	// Tern is one migration of jackc/tern, which knows PostgreSQL only.
	Tern Format = "tern"
)

// Formats lists the formats.
func Formats() []Format { return []Format{SQL, Goose, GolangMigrate, Tern} }

// ErrFormat means that a plan cannot be written in the format.
var ErrFormat = errors.New("plan: it cannot be written in this format")

// File is one file of a plan.
type File struct{ Name, Text string }

// title names migrations.
const title = "semel_rules"

// Files writes the plan down, without what was refused; a plan with nothing to
// do gives no files. version is the number of the first migration, which goes
// into the names of files. The error wraps [ErrFormat].
func (p *Plan) Files(format Format, version int64) ([]File, error) {
	if !slices.Contains(Formats(), format) {
		return nil, fmt.Errorf("%w: %q is not a format", ErrFormat, format)
	}
	if format == Tern && p.Dialect != dialect.PostgreSQL {
		return nil, fmt.Errorf("%w: tern knows PostgreSQL only, and this is %s", ErrFormat, p.Dialect)
	}
	up, down := p.statements()
	if len(up) == 0 {
		return nil, nil
	}
	name := strconv.FormatInt(version, 10) + "_" + title
	switch format {
	case Goose:
		return []File{{name + ".sql", p.goose(up, down)}}, nil
	case Tern:
		return []File{{name + ".sql", p.tern(up, down)}}, nil
	case GolangMigrate:
		return p.pairs(version), nil
	case SQL:
	}
	return []File{{title + ".sql", p.plain(up, down)}}, nil
}

// statements are those of all steps. A session setting that is in force already
// is left out.
func (p *Plan) statements() (up, down []Statement) {
	set := make(map[string]string)
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Refused != nil || len(s.Up) == 0 {
			continue
		}
		for _, one := range s.titled() {
			name, value, _ := strings.Cut(one.SQL, " = ")
			if one.Session && set[name] == value {
				continue
			}
			if one.Session {
				set[name] = value
			}
			up = append(up, one)
		}
		down = append(slices.Clone(s.Down), down...)
	}
	return up, down
}

// titled returns the statements, with the rule's sentence before them.
func (s *RuleStep) titled() []Statement {
	all := slices.Clone(s.Up)
	first := max(0, slices.IndexFunc(all, func(one Statement) bool { return !one.Session }))
	lines := append([]string{"Rule " + s.Rule + ": " + s.Says}, s.Notes...)
	if all[first].Comment != "" {
		lines = append(lines, all[first].Comment)
	}
	all[first].Comment = strings.Join(lines, "\n")
	return all
}

func (p *Plan) plain(up, down []Statement) string {
	var b strings.Builder
	b.WriteString(comment("Made by semel rules plan for " + p.Dialect.String() + " " + p.Server + "."))
	switch p.Dialect {
	case dialect.PostgreSQL:
		b.WriteString(comment("Run it outside a transaction: psql -X -v ON_ERROR_STOP=1 -f FILE"))
	case dialect.SQLite:
		b.WriteString("BEGIN IMMEDIATE;\n")
	case dialect.MySQL:
	}
	b.WriteString("\n" + text(up...))
	if p.Dialect == dialect.SQLite {
		b.WriteString("\nCOMMIT;\n")
	}
	b.WriteString("\n-- To undo it:\n")
	for i := range down {
		b.WriteString(comment(down[i].SQL + ";"))
	}
	return b.String()
}

func (p *Plan) goose(up, down []Statement) string {
	head := ""
	if p.Dialect == dialect.PostgreSQL {
		head = "-- +goose NO TRANSACTION\n\n"
	}
	return head + "-- +goose Up\n\n" + text(up...) + "\n-- +goose Down\n\n" + text(down...)
}

func (p *Plan) tern(up, down []Statement) string {
	const noTransaction = "---- tern: disable-tx ----\n" // it applies to the half that contains it
	all := noTransaction + "\n" + text(up...) + "\n---- create above / drop below ----\n\n" + noTransaction + "\n" + text(down...)
	return strings.ReplaceAll(all, "{{", `{{"{{"}}`) // tern takes files for templates
}

// pairs writes one pair of files for each statement. Statements that only set
// the session are left out: another session may run the next file. Undoing goes
// backwards, so the first statement of an undo is with the last file of its
// step.
func (p *Plan) pairs(version int64) []File {
	var files []File
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Refused != nil || len(s.Up) == 0 {
			continue
		}
		up := slices.DeleteFunc(s.titled(), func(one Statement) bool { return one.Session })
		for j := range up {
			down := Statement{SQL: "SELECT 1", Comment: "There is nothing to undo here: the next file to be undone does."}
			if k := len(up) - 1 - j; k < len(s.Down) {
				down = s.Down[k]
			}
			name := strconv.FormatInt(version+int64(len(files)/2), 10) + "_" + title
			files = append(files, File{name + ".up.sql", text(up[j])}, File{name + ".down.sql", text(down)})
		}
	}
	return files
}

// text writes statements, each with its comment before it and an empty line
// between.
func text(all ...Statement) string {
	return strings.Join(texts.Of(all, func(s Statement) string { return comment(s.Comment) + s.SQL + ";\n" }), "\n")
}

// comment writes lines of comment; whatever is in them, they stay comments.
func comment(s string) string {
	if s == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("-- " + strings.Map(printable, strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}
