package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// tableRows bounds the rows of one table on a terminal; further rows get another one.
const tableRows = 500

// Sheet prints rows: a table on a terminal, tab-separated columns elsewhere.
type Sheet interface {
	line(cells []string) error
	end() error
}

// NewSheet returns a sheet with these titles; empty replaces a table without rows.
func NewSheet(p *Process, titles []string, empty string) Sheet {
	if IsTerminal(p.Stdout) {
		return NewTableSheet(p, titles, empty)
	}
	return &plainSheet{w: p.Stdout, titles: titles}
}

// plainSheet prints tab-separated columns.
type plainSheet struct {
	w      io.Writer
	titles []string
	begun  bool
}

func (s *plainSheet) line(cells []string) error {
	if !s.begun {
		s.begun = true
		if err := s.line(s.titles); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(s.w, strings.Join(cells, "\t"))
	return err
}

func (s *plainSheet) end() error {
	if s.begun {
		return nil
	}
	s.begun = true
	return s.line(s.titles)
}

// PrintSheet prints all rows of a sheet.
func PrintSheet(p *Process, titles []string, empty string, rows [][]string) error {
	out := NewSheet(p, titles, empty)
	for _, row := range rows {
		if err := out.line(row); err != nil {
			return err
		}
	}
	return out.end()
}

// Listing prints values one after the other, and ends: as JSON, or as the rows of a sheet.
type Listing[T any] struct {
	Write func(*T) error
	End   func() error
}

// JSONOf is a listing of the JSON that view makes of the values.
func JSONOf[T, V any](p *Process, view func(*T) V) Listing[T] {
	encoder := json.NewEncoder(p.Stdout)
	return Listing[T]{func(one *T) error { return encoder.Encode(view(one)) }, func() error { return nil }}
}

// SheetOf is a listing of the rows that row makes of the values.
func SheetOf[T any](out Sheet, row func(*T) []string) Listing[T] {
	return Listing[T]{func(one *T) error { return out.line(row(one)) }, out.end}
}

// NewTable returns a table for people with this header.
func NewTable(p *Process, header table.Row) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(p.Stdout)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(header)
	return t
}

// tableSheet prints a table for people.
type tableSheet struct {
	p     *Process
	table table.Writer
	empty string
	any   bool // something was written
}

// NewTableSheet returns a sheet for people, on a terminal or not.
func NewTableSheet(p *Process, titles []string, empty string) Sheet {
	t := table.NewWriter()
	t.SetOutputMirror(p.Stdout)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(tableRow(titles))
	t.SetColumnConfigs([]table.ColumnConfig{
		{Name: "SCOPE", WidthMax: 36, WidthMaxEnforcer: Shorten},
		{Name: "NAME", WidthMax: 40, WidthMaxEnforcer: Shorten},
		{Name: "REASON", WidthMax: 60, WidthMaxEnforcer: Shorten},
		{Name: "WHY", WidthMax: 60, WidthMaxEnforcer: text.WrapSoft},
	})
	return &tableSheet{p: p, table: t, empty: empty}
}

func tableRow(cells []string) table.Row {
	row := make(table.Row, len(cells))
	for i, cell := range cells {
		row[i] = cell
	}
	return row
}

// Shorten cuts text to limit characters, the last of them an ellipsis.
func Shorten(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}

func (s *tableSheet) line(cells []string) error {
	s.table.AppendRow(tableRow(cells))
	s.any = true
	if s.table.Length() == tableRows {
		s.draw()
	}
	return nil
}

func (s *tableSheet) draw() {
	s.table.Render()
	s.table.ResetRows()
}

func (s *tableSheet) end() error {
	if !s.any {
		_, err := fmt.Fprintln(s.p.Stdout, s.empty)
		return err
	}
	if s.table.Length() > 0 {
		s.draw()
	}
	return nil
}
