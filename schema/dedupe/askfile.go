package dedupe

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/schema/dedupe/near"
)

// maxAnswers bounds the bytes of a file.
const maxAnswers = 64 << 20

// questionColumns are those of the file: a line for each row of a question.
func questionColumns() []string {
	return []string{"question", "decision", "key", "seen", "column", "value", "same"}
}

// WriteQuestions writes the open questions of a plan for a person, as CSV.
func (p *Plan) WriteQuestions(w io.Writer) error {
	out := csv.NewWriter(w)
	lines := [][]string{questionColumns()}
	for i, q := range p.Open {
		for _, c := range q.Rows {
			lines = append(lines, []string{strconv.Itoa(i + 1), "", c.Key, c.seen, q.Column, near.Cell(c.Value), near.Cell(&q.Same)})
		}
	}
	return out.WriteAll(lines)
}

// ReadAnswers reads what a person wrote into the file. Questions without an answer are left out; an error names its line.
func ReadAnswers(r io.Reader) ([]Answer, error) {
	in := csv.NewReader(io.LimitReader(r, maxAnswers))
	in.FieldsPerRecord = len(questionColumns())
	header, err := in.Read()
	switch {
	case err == io.EOF:
		return nil, errors.New("it is not a file of questions: it is empty, or not CSV (semel dedupe plan writes one)")
	case err != nil && !errors.Is(err, csv.ErrFieldCount): // whose header is there, and told below
		return nil, fmt.Errorf("read the questions: %w", err)
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	if !slices.Equal(header, questionColumns()) {
		return nil, fmt.Errorf("it is not a file of questions: its columns are %q, want %s, separated by commas", strings.Join(header, ","), strings.Join(questionColumns(), ", "))
	}
	var all []Answer
	places, rows := map[string]int{}, map[[2]string]bool{}
	for {
		fields, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		name := [2]string{fields[4], fields[2]}
		if rows[name] {
			return nil, fmt.Errorf("line %d: the row %s is in two questions about %s", line, fields[2], fields[4])
		}
		rows[name] = true
		at, ok := places[fields[0]]
		if !ok {
			at, places[fields[0]] = len(all), len(all)
			all = append(all, Answer{Column: fields[4], Rows: map[string]string{}})
		}
		if err := all[at].addLine(fields); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	return slices.DeleteFunc(all, func(a Answer) bool { return a.Keep == "" }), nil
}

// addLine adds a line of the file.
func (a *Answer) addLine(fields []string) error {
	word, key := strings.ToLower(strings.TrimSpace(fields[1])), fields[2]
	switch {
	case fields[4] != a.Column:
		return fmt.Errorf("the question %s is about %s and %s", fields[0], a.Column, fields[4])
	case word != "" && word != "keep":
		return fmt.Errorf("%q is not a decision (keep, or nothing)", fields[1])
	case word != "" && a.Keep != "":
		return fmt.Errorf("the question %s keeps two values", fields[0])
	case word != "":
		a.Keep = key
	}
	a.Rows[key] = fields[3]
	return nil
}
