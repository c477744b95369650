package command

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

// sheet prints rows: a table on a terminal, tab-separated columns elsewhere.
type sheet interface {
	line(cells []string) error
	end() error
}

// newSheet returns a sheet with these titles; empty replaces a table without rows.
func newSheet(p *process, titles []string, empty string) sheet {
	if isTerminal(p.stdout) {
		return newTableSheet(p, titles, empty)
	}
	return &plainSheet{w: p.stdout, titles: titles}
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

// printSheet prints all rows of a sheet.
func printSheet(p *process, titles []string, empty string, rows [][]string) error {
	out := newSheet(p, titles, empty)
	for _, row := range rows {
		if err := out.line(row); err != nil {
			return err
		}
	}
	return out.end()
}

// listing prints values one after the other, and ends: as JSON, or as the rows of a sheet.
type listing[T any] struct {
	write func(*T) error
	end   func() error
}

// jsonOf is a listing of the JSON that view makes of the values, and sheetOf one of rows.
func jsonOf[T, V any](p *process, view func(*T) V) listing[T] {
	encoder := json.NewEncoder(p.stdout)
	return listing[T]{func(one *T) error { return encoder.Encode(view(one)) }, func() error { return nil }}
}

func sheetOf[T any](out sheet, row func(*T) []string) listing[T] {
	return listing[T]{func(one *T) error { return out.line(row(one)) }, out.end}
}

// newTable returns a table for people with this header.
func newTable(p *process, header table.Row) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(p.stdout)
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(header)
	return t
}

// tableSheet prints a table for people.
type tableSheet struct {
	p     *process
	table table.Writer
	empty string
	any   bool // something was written
}

func newTableSheet(p *process, titles []string, empty string) *tableSheet {
	t := table.NewWriter()
	t.SetOutputMirror(p.stdout)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(tableRow(titles))
	t.SetColumnConfigs([]table.ColumnConfig{
		{Name: "SCOPE", WidthMax: 36, WidthMaxEnforcer: shorten},
		{Name: "NAME", WidthMax: 40, WidthMaxEnforcer: shorten},
		{Name: "REASON", WidthMax: 60, WidthMaxEnforcer: shorten},
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

func shorten(text string, limit int) string {
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
		_, err := fmt.Fprintln(s.p.stdout, s.empty)
		return err
	}
	if s.table.Length() > 0 {
		s.draw()
	}
	return nil
}
