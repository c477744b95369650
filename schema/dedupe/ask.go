package dedupe

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/dedupe/near"
)

// A column with the policy "ask" keeps a group from being merged while its rows have several values: a plan lists them as
// questions, and a run refuses the groups for which its plan has no answer. The run compares under its locks, so that neither a
// value nor a row that came after the question is decided about.

const (
	askPolicy = "ask"
	// maxQuestions bounds the list: no person answers more.
	maxQuestions = 10_000
)

// Question asks which row's value of a column stays.
type Question struct {
	Column string
	// Same holds the values by which the rows are the same.
	Same string
	Rows []Candidate
}

// Candidate is a row with its value for people; nil for NULL.
type Candidate struct {
	Key   string
	Value *string

	seen string
}

// Answer says which row's value of a column stays.
type Answer struct {
	Column string `json:"column"`
	// Keep is the key of that row, Rows what the person saw of the group: digests of the values by the keys of their rows.
	Keep string            `json:"keep"`
	Rows map[string]string `json:"rows"`
}

// rows are the digests of the values by the keys of their rows.
func (q *Question) rows() map[string]string {
	all := map[string]string{}
	for _, c := range q.Rows {
		all[c.Key] = c.seen
	}
	return all
}

// answer returns the row whose value of a column stays, "" where all are the same, or else why that is not known.
func (q *Request) answer(column string, rows map[string]string) (keep, why string) {
	values := map[string]bool{}
	for _, seen := range rows {
		values[seen] = true
	}
	if len(values) < 2 {
		return "", ""
	}
	i := slices.IndexFunc(q.Answers, func(a Answer) bool {
		return a.Column == column && slices.ContainsFunc(slices.Collect(maps.Keys(a.Rows)), func(key string) bool { return rows[key] != "" })
	})
	if i < 0 {
		return "", fmt.Sprintf("the rows have %d values of %s, and a person has to decide which one stays (plan again, and answer the questions)", len(values), column)
	}
	if !maps.Equal(q.Answers[i].Rows, rows) || rows[q.Answers[i].Keep] == "" {
		return "", "a row was changed after a person decided about " + column + " (plan again, and decide anew)"
	}
	return q.Answers[i].Keep, ""
}

// asks are the columns of the table about which a person decides.
func (t *table) asks() []string {
	var all []string
	for _, p := range t.fills {
		if p.kind == askPolicy {
			all = append(all, p.column)
		}
	}
	return all
}

// exact are the texts by which values of columns are compared.
func (t *table) exact(alias string, names []string) []string {
	return texts.Of(names, func(name string) string { return t.text(alias+"."+quote(name), t.column(name)) })
}

// seenAs is the digest of a value.
func seenAs(value sql.NullString) string {
	if !value.Valid {
		return near.Seen([]*string{nil})
	}
	return near.Seen([]*string{&value.String})
}

// decideAsked looks for the answers of the groups in the fates, and refuses groups without one.
func (r *runner) decideAsked(ctx context.Context) error {
	root := r.tables[0]
	asks := root.asks()
	if len(asks) == 0 {
		return nil
	}
	found, err := r.classes(ctx, root, asks)
	if err != nil {
		return err
	}
	r.answers = map[string][][2]string{}
	reasons := map[int64]string{}
	for _, winner := range slices.Sorted(maps.Keys(found)) {
		one := found[winner]
		for i, column := range asks {
			keep, why := r.request.answer(column, one.rows[i])
			if why != "" {
				maps.Copy(reasons, reasonsFor(one.groups, why))
			} else if keep != "" {
				r.answers[column] = append(r.answers[column], [2]string{winner, keep})
			}
		}
	}
	if len(reasons) > 0 {
		return &refusedError{reasons}
	}
	return nil
}

// asked holds the rows of a fate that become one: their groups, and for each column the digests of their values by their keys.
type asked struct {
	groups []int64
	rows   []map[string]string
}

// classes are those of a table's fate, by the key of the row that stays.
func (r *runner) classes(ctx context.Context, root *table, asks []string) (map[string]*asked, error) {
	found := map[string]*asked{}
	query := "SELECT " + list([]string{"f.grp", root.key(root.winner("f")), root.key(root.oldID("f"))}, root.exact("t", asks)) + " FROM " + root.fate() + " AS f JOIN " + root.path + " AS t ON " + equal(of("t", root.id), root.oldID("f"))
	err := r.each(ctx, query, nil, func(rows *sql.Rows) error {
		var number int64
		var winner, key string
		values := make([]sql.NullString, len(asks))
		into := []any{&number, &winner, &key}
		for i := range values {
			into = append(into, &values[i])
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		one := found[winner]
		if one == nil {
			one = &asked{rows: make([]map[string]string, len(asks))}
			for i := range asks {
				one.rows[i] = map[string]string{}
			}
			found[winner] = one
		}
		one.groups = append(one.groups, number)
		for i, value := range values {
			one.rows[i][key] = seenAs(value)
		}
		return nil
	})
	return found, err
}

// fillAnswers gives winners the values of the rows that a person chose; "" without any.
func (t *table) fillAnswers(column string, answers [][2]string) string {
	if len(answers) == 0 {
		return ""
	}
	value := "t." + quote(column)
	from := "(SELECT " + list(as(t.unkey("p.w"), "semel_w"), []string{value + " AS semel_value"}) + " FROM (" + t.pairs(pairList(answers)) + ") AS p JOIN " + t.path + " AS t ON " + equal(of("t", t.id), t.unkey("p.l")) + ") AS q"
	return t.update(t.fate(), "f", t.at("", "n", []string{column}), []string{"q.semel_value"}, from, equal(numbered("q", "semel_w", len(t.id)), t.oldID("f")))
}

// ask lists the questions of a plan, and refuses answers to others.
func (s *dbSession) ask(ctx context.Context, found *site, p *Plan) error {
	columns := found.tables[0].asks()
	answered := 0
	done := func(group []Question) error {
		open := false
		for _, q := range group {
			keep, why := p.Request.answer(q.Column, q.rows())
			switch {
			case keep != "":
				answered++
			case strings.Contains(why, "changed after"):
				return refuse("%s %s: %s", q.Rows[0].Key, found.tables[0].name, why)
			case why != "":
				open = true
				if p.Questions++; len(p.Open) < maxQuestions {
					p.Open = append(p.Open, q)
				}
			}
		}
		if open {
			p.AskedGroups++
			p.AskedLosers += int64(len(group[0].Rows) - 1)
		}
		return nil
	}
	if len(columns) > 0 {
		if err := s.eachAsked(ctx, found, columns, done); err != nil {
			return err
		}
	}
	if answered < len(p.Request.Answers) {
		return refuse("%d of %d answers are about rows that were changed, merged or deleted since the question (plan again, and decide anew)", len(p.Request.Answers)-answered, len(p.Request.Answers))
	}
	if p.AskedGroups > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("the estimate leaves out what waits for answers: %s, with %s", texts.Count(p.AskedGroups, "group"), texts.Count(p.AskedLosers, "loser")))
	}
	if more := p.Questions - int64(len(p.Open)); more > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("only the first %d of %d questions are listed", len(p.Open), p.Questions))
	}
	return nil
}

// eachAsked calls use with the values of each group's rows, a question for each column.
func (s *dbSession) eachAsked(ctx context.Context, found *site, columns []string, use func([]Question) error) error {
	var group []Question
	last := int64(0)
	err := s.each(ctx, found.asked(columns), nil, func(rows *sql.Rows) error {
		var number int64
		var key, same string
		exact, shown := make([]sql.NullString, len(columns)), make([]*string, len(columns))
		into := []any{&number, &key, &same}
		for i := range columns {
			into = append(into, &exact[i], &shown[i])
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if number != last {
			if err := use(group); err != nil {
				return err
			}
			last, group = number, make([]Question, len(columns))
		}
		for i := range columns {
			q := &group[i]
			q.Column, q.Same = columns[i], same
			q.Rows = append(q.Rows, Candidate{Key: key, Value: shown[i], seen: seenAs(exact[i])})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return use(group)
}

// asked selects the rows of all groups: the number of the group, the key, the values of its terms, and of each column the value
// that is compared and the one for people.
func (s *site) asked(columns []string) string {
	root := s.tables[0]
	n := len(root.id)
	l, w := numbered("d", "l", n), numbered("d", "w", n)
	same := "''"
	if terms := numbered("", "semel_e", len(s.request.Terms)); len(terms) > 0 {
		same = "concat_ws(', ', " + list(texts.Of(terms, func(name string) string { return near.Text(s.dialect, "c", name) })) + ")"
	}
	values := make([]string, 0, 2*len(columns))
	for i, name := range columns {
		values = append(values, root.exact("t", columns)[i], near.Text(s.dialect, "t", name))
	}
	members := "SELECT " + list(as(l, "k"), as(w, "w")) + " FROM d UNION ALL SELECT DISTINCT " + list(as(w, "k"), as(w, "w")) + " FROM d"
	ranked := "SELECT m.*, dense_rank() OVER (ORDER BY " + list(numbered("m", "w", n)) + ") AS semel_grp FROM (" + members + ") AS m"
	return "WITH d AS " + root.once() + "(" + s.losers() + ") SELECT " + list([]string{"g.semel_grp", root.key(of("t", root.id)), same}, values) + " FROM (" + ranked + ") AS g JOIN " + root.path + " AS t ON " +
		equal(of("t", root.id), numbered("g", "k", n)) + " JOIN (" + s.counted() + ") AS c ON " + equal(numbered("c", "semel_k", n), of("t", root.id)) + " ORDER BY " + list([]string{"g.semel_grp"}, of("t", root.id))
}
