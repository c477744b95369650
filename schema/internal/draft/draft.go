package draft

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/verify"
)

// maxRules bounds the rules of a draft; the draft lists what it left out.
const maxRules = 500

// Draft is a rules file to begin with.
type Draft struct {
	// Text is the file.
	Text []byte
	// Rules counts the rules in it, Comments the entries that are comments only.
	Rules, Comments int
	// Guesses counts the rules that nothing enforces yet.
	Guesses int
}

// Make reads the database and drafts a rules file, which loads with [rules.Parse].
// The database verifies against it without an error, but for rules that are guesses:
// [verify.Verify] reports that nothing enforces them, and the rows that break them.
// Rows are counted for these alone.
func Make(ctx context.Context, db *sql.DB, d dialect.Dialect) (*Draft, error) {
	schema, err := catalog.Read(ctx, db, d)
	if err != nil {
		return nil, err
	}
	s := &sketch{schema: schema}
	s.tables()
	for {
		text := s.text()
		file, err := rules.Parse("draft", []byte(text))
		if wrong, ok := errors.AsType[*rules.Error](err); ok {
			if err := s.dropWrong(wrong); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		report, err := verify.Verify(ctx, db, d, file, &verify.Options{MaxRows: -1})
		if err != nil {
			return nil, err
		}
		if s.annotate(report); len(report.Findings) > 0 {
			if err := s.dropFound(report); err != nil {
				return nil, err
			}
			continue
		}
		if err := s.count(ctx, db, file); err != nil {
			return nil, err
		}
		return s.draft(), nil
	}
}

// count notes the rows that break the guesses. A guess that very many rows break is dropped.
func (s *sketch) count(ctx context.Context, db *sql.DB, file *rules.File) error {
	report, err := verify.Verify(ctx, db, s.schema.Dialect, file, nil)
	if err != nil {
		return err
	}
	for i := range report.Findings {
		f := &report.Findings[i]
		e := s.at(f.Line)
		switch {
		case e == nil || f.Duplicates == nil:
		case f.Duplicates.More:
			e.why = fmt.Sprintf("the column looks unique, and more than %d groups of rows are the same by it.", f.Duplicates.Count)
		default:
			e.notes = append(e.notes, f.Message+": merge or correct them first (semel dedupe plan).")
		}
	}
	return nil
}

func (s *sketch) draft() *Draft {
	made := &Draft{Text: []byte(s.text())}
	for i := range s.entries {
		switch e := &s.entries[i]; {
		case e.why != "":
			made.Comments++
		case e.guess:
			made.Guesses++
			made.Rules++
		default:
			made.Rules++
		}
	}
	return made
}

// sketch is a draft in the making.
type sketch struct {
	schema  *catalog.Schema
	entries []entry
	// left counts the rules beyond maxRules.
	left int
}

// entry is one rule of the draft, or a comment in its place.
type entry struct {
	name  string
	lines []string
	// why is set where the entry is a comment only.
	why string
	// unread says that it is one because the file did not load with it, perhaps for
	// the sake of another rule.
	unread bool
	// guess says that nothing enforces the rule.
	guess bool
	// notes are comments on a rule in the draft.
	notes []string
	// first is the line of the file on which the entry starts, from 1.
	first int
}

// ofTheDraft matches the position of another rule in a draft, which differs in the
// next one.
var ofTheDraft = regexp.MustCompile(` on line [0-9]+`)

// drop turns the rule on a line into a comment, and reports whether there was one.
func (s *sketch) drop(line int, why string, unread bool) bool {
	e := s.at(line)
	if e != nil {
		e.why, e.unread = why, unread
	}
	return e != nil
}

// dropWrong turns into comments the rules that the file cannot say.
func (s *sketch) dropWrong(wrong *rules.Error) error {
	dropped := false
	for _, p := range wrong.Problems {
		dropped = s.drop(p.Position.Line, ofTheDraft.ReplaceAllString(p.Message, "")+" ("+p.Fix+")", true) || dropped
	}
	if !dropped {
		return fmt.Errorf("draft: the draft does not load: %w", wrong)
	}
	return nil
}

// annotate turns findings that are about the table, or about a second index with the same
// rule, into comments before the rule, which stays, and removes them from the report;
// with them what is to be expected of a guess.
func (s *sketch) annotate(report *verify.Report) {
	report.Findings = slices.DeleteFunc(report.Findings, func(f verify.Finding) bool {
		e := s.at(f.Line)
		if e == nil {
			return false
		}
		if e.guess && slices.Contains([]verify.Code{"missing_index", "not_unique", "columns_differ"}, f.Code) {
			return true
		}
		if f.Code != "redundant_index" && f.Code != "engine" {
			return false
		}
		if said := f.Message + ": " + f.Fix; !slices.Contains(e.notes, said) {
			e.notes = append(e.notes, said)
		}
		return true
	})
}

// dropFound turns into comments the rules that would not verify. Those that the file
// did not load with are tried again, now that others are gone.
func (s *sketch) dropFound(report *verify.Report) error {
	dropped := false
	for i := range report.Findings {
		dropped = s.drop(report.Findings[i].Line, report.Findings[i].Message, false) || dropped
	}
	for i := range s.entries {
		if e := &s.entries[i]; e.unread {
			e.why, e.unread = "", false
		}
	}
	if !dropped {
		return fmt.Errorf("draft: the draft does not verify: %s", report.Findings[0].Message)
	}
	return nil
}

// at finds the entry that a line belongs to.
func (s *sketch) at(line int) *entry {
	for i := range s.entries {
		if e := &s.entries[i]; line >= e.first && line < e.first+len(e.lines) && e.why == "" {
			return e
		}
	}
	return nil
}

const head = `# What is the same thing, and must not be there twice. Drafted by semel rules init
# from what %s enforces; the sentences are guesses: better them.
# How to go on: semel rules verify, semel rules plan, semel rules doc.
version: 1
`

// text writes the file, and notes where each entry starts.
func (s *sketch) text() string {
	live := 0
	for i := range s.entries {
		if s.entries[i].why == "" {
			live++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, head, s.schema.Dialect)
	if live > 0 {
		b.WriteString("unique:\n")
	} else {
		b.WriteString("# unique: no rule was found that can be used as it is; write one here\n")
	}
	line := strings.Count(b.String(), "\n") + 1
	for i := range s.entries {
		e := &s.entries[i]
		prefix, remarks := "  ", e.notes
		if e.why != "" {
			prefix, remarks = "  # ", []string{"Not a rule yet: " + e.why}
		}
		for _, remark := range remarks {
			for _, text := range wrap(remark, 90) {
				b.WriteString("  # " + text + "\n")
				line++
			}
		}
		e.first = line
		for _, text := range e.lines {
			b.WriteString(prefix + text + "\n")
			line++
		}
	}
	if s.left > 0 {
		fmt.Fprintf(&b, "# %d more unique indexes were left out.\n", s.left)
	}
	return b.String()
}

// wrap breaks text into lines; control characters become spaces, so that a
// comment stays one.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	return append(lines, line)
}
