package table

import (
	"context"
	"database/sql/driver"
	"embed"
	"strings"
)

// Statement is one of the statements that the engine runs.
type Statement int

// The statements, each in a file of its own.
const (
	Claim Statement = iota
	Renew
	Settle
	SettleSooner
	Release
	Lookup
	List
	ListCount
	Count
	Due
	SweepCorrect
	SweepDelete
	Lock
	MetaRead
	MetaWrite
	Integrity
	Check
	Statements // the number of statements
)

//go:embed sql/*.sql
var files embed.FS

// Names are the names that differ between the stores.
type Names struct {
	Package      string // as errors begin
	Record, Meta string // the tables
}

// Texts returns the statements on these tables, trimmed: some drivers compile
// a text with a tail anew at every call.
func (n Names) Texts() (all [Statements]string, err error) {
	names := strings.NewReplacer("{record}", n.Record, "{meta}", n.Meta)
	for i, file := range [Statements]string{
		"claim", "renew", "settle", "settle_sooner", "release", "lookup", "list", "list_count", "count",
		"due", "sweep_correct", "sweep_delete", "lock", "meta_read", "meta_write", "integrity", "check",
	} {
		text, err := files.ReadFile("sql/" + file + ".sql")
		if err != nil {
			return all, err
		}
		all[i] = names.Replace(strings.TrimSpace(string(text)))
	}
	return all, nil
}

// Row is a row of a result: *sql.Rows, or the like of it.
type Row interface{ Scan(dest ...any) error }

// Session runs the statements in one place: on a connection, or in a
// transaction. Their arguments are int64, string and []byte.
type Session interface {
	// Exec runs a statement that returns no rows.
	Exec(ctx context.Context, q Statement, args ...any) (driver.Result, error)
	// Each calls found for every row, whose memory the next one may use again.
	// Blobs and strings that were scanned belong to the caller.
	Each(ctx context.Context, q Statement, found func(Row) error, args ...any) error
}

// changes runs a statement and returns how many rows it changed.
func changes(ctx context.Context, in Session, q Statement, args ...any) (int64, error) {
	res, err := in.Exec(ctx, q, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
