package near

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/schema/catalog"
)

// The file for decisions is CSV, so that any spreadsheet opens it: a line for each row of a group.
const (
	groupColumn    = "group"
	decisionColumn = "decision"
	keyColumn      = "key"
	seenColumn     = "seen"
	whyColumn      = "why"
	fixedColumns   = 5

	keep  = "keep"
	merge = "merge"
	apart = "apart"

	maxDecisions = 64 << 20
)

// Decisions holds what a person wrote into the file.
type Decisions struct {
	// Columns are those that the person saw.
	Columns []string
	Groups  []Decision

	about map[string]int
}

// About reports whether a row with this key is kept or merged.
func (d *Decisions) About(key []string) bool {
	_, ok := d.about[nameOf(key)]
	return ok
}

// Decision says that rows of a group are one: the row that stays and those that are merged into it.
type Decision struct {
	Winner Choice
	Losers []Choice
}

// Choice is a row in a decision, as the file has it.
type Choice struct {
	Key  []string
	seen string
	line int
}

// Write writes the file in which a person decides.
func (r *Result) Write(w io.Writer) error {
	out := csv.NewWriter(w)
	header := []string{groupColumn, decisionColumn, keyColumn, seenColumn, whyColumn}
	for _, name := range r.Columns {
		header = append(header, Cell(&name))
	}
	if err := out.Write(header); err != nil {
		return err
	}
	for i, g := range r.Groups {
		for _, row := range g.Rows {
			key, err := json.Marshal(row.Key)
			if err != nil {
				return err
			}
			line := []string{strconv.Itoa(i + 1), "", string(key), Seen(row.Values), Cell(&g.Why)}
			for _, value := range row.Values {
				line = append(line, Cell(value))
			}
			if err := out.Write(line); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// Seen identifies the values that a person sees. No spreadsheet takes it for a number.
func Seen(values []*string) string {
	sum := sha256.Sum256(must.Get(json.Marshal(values))) // texts have no values that JSON lacks
	return "v" + hex.EncodeToString(sum[:8])
}

// Cell is a value that no spreadsheet takes for a formula.
func Cell(value *string) string {
	if value == nil {
		return ""
	}
	if strings.HasPrefix(strings.TrimLeft(*value, " \t\r\n"), "=") || strings.IndexAny(*value, "+-@\t\r") == 0 {
		return "'" + *value
	}
	return *value
}

// ReadDecisions reads what a person decided. Groups without a decision are left out; an error names its line.
func ReadDecisions(r io.Reader) (*Decisions, error) {
	in := csv.NewReader(io.LimitReader(r, maxDecisions))
	in.FieldsPerRecord = -1
	header, err := in.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the decisions: %w", err)
	} else if err != nil {
		return nil, errors.New("it is not a file of decisions: it is empty, or not CSV (semel dedupe near writes one)")
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	want := []string{groupColumn, decisionColumn, keyColumn, seenColumn, whyColumn}
	if len(header) <= fixedColumns || !slices.Equal(header[:fixedColumns], want) {
		return nil, fmt.Errorf("it is not a file of decisions: its columns begin with %q, want %s, separated by commas", strings.Join(header, ","), strings.Join(want, ", "))
	}
	d := decider{groups: map[string]int{}, decided: map[string]int{}}
	for {
		fields, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		if err := d.addLine(fields, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	groups, err := d.decisions()
	if err != nil {
		return nil, err
	}
	return &Decisions{Columns: header[fixedColumns:], Groups: groups, about: d.decided}, nil
}

// decider collects the decisions of a file.
type decider struct {
	groups map[string]int // the place of a group in all
	all    []Decision
	// decided has the line of each key that is kept or merged.
	decided map[string]int
}

func (d *decider) addLine(fields []string, line int) error {
	if len(fields) < fixedColumns {
		return fmt.Errorf("it has %d columns, want at least %d", len(fields), fixedColumns)
	}
	word := strings.ToLower(strings.TrimSpace(fields[1]))
	if word == "" || word == apart {
		return nil
	}
	if word != keep && word != merge {
		return fmt.Errorf("%q is not a decision (%s, %s, %s, or nothing)", fields[1], keep, merge, apart)
	}
	c := Choice{seen: fields[3], line: line}
	if err := json.Unmarshal([]byte(fields[2]), &c.Key); err != nil || len(c.Key) == 0 {
		return fmt.Errorf("the key %q was changed: it is a list such as [\"17\"]", fields[2])
	}
	name := nameOf(c.Key)
	if before, ok := d.decided[name]; ok {
		return fmt.Errorf("line %d has decided about the row %s already: a row is kept or merged once", before, fields[2])
	}
	d.decided[name] = line
	at, ok := d.groups[fields[0]]
	if !ok {
		at = len(d.all)
		d.groups[fields[0]] = at
		d.all = append(d.all, Decision{})
	}
	g := &d.all[at]
	switch {
	case word == merge:
		g.Losers = append(g.Losers, c)
	case g.Winner.Key != nil:
		return fmt.Errorf("the group %s keeps two rows: one stays, and the others are merged into it", fields[0])
	default:
		g.Winner = c
	}
	return nil
}

// nameOf is a key as one text.
func nameOf(key []string) string { return strings.Join(key, "\x00") }

// decisions are those that are whole.
func (d *decider) decisions() ([]Decision, error) {
	var all []Decision
	for _, g := range d.all {
		switch {
		case g.Winner.Key == nil:
			return nil, fmt.Errorf("line %d: the group merges rows and keeps none: write %s at the row that stays", g.Losers[0].line, keep)
		case len(g.Losers) > 0:
			all = append(all, g)
		}
	}
	return all, nil
}

// Check reports the rows that are not any more as the person saw them, or that are merged or gone.
func (d *Decisions) Check(ctx context.Context, db *sql.DB, in dialect.Dialect, t *catalog.Table) error {
	f := &finder{Search: &Search{Table: t, Show: d.Columns}, db: db, in: in}
	if err := f.prepare(); err != nil {
		return err
	}
	open := map[string]Choice{}
	for _, g := range d.Groups {
		for _, c := range append(g.Losers, g.Winner) {
			open[nameOf(c.Key)] = c
		}
	}
	err := f.scan(ctx, slices.Concat(f.id, f.shown), func(values []*string) {
		row := f.row(values)
		if c, ok := open[nameOf(row.Key)]; ok && c.seen == Seen(row.Values) {
			delete(open, nameOf(row.Key))
		}
	})
	if err != nil || len(open) == 0 {
		return err
	}
	first := slices.MinFunc(slices.Collect(maps.Values(open)), func(a, b Choice) int { return a.line - b.line })
	more := ""
	if len(open) > 1 {
		more = fmt.Sprintf(", as were %d more", len(open)-1)
	}
	return fmt.Errorf("line %d: the row %q is not as the list has it: it was changed, merged or deleted%s (list again, and decide anew)", first.line, first.Key, more)
}
