package dedupe_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/semel-dev/semel/schema/dedupe"
)

// asking plans with answers, and returns the plan with the file of its questions.
func (b *bench) asking(answers string) (*dedupe.Plan, string, error) {
	b.Helper()
	q := request()
	q.Columns = []string{"phone=ask"}
	if answers != "" {
		var err error
		q.Answers, err = dedupe.ReadAnswers(strings.NewReader(answers))
		noError(b.T, err)
	}
	p, err := b.tryPlan("customer", "email", q)
	if err != nil {
		return nil, "", err
	}
	var file bytes.Buffer
	noError(b.T, p.WriteQuestions(&file))
	return p, file.String(), nil
}

// answered writes keep at the n-th line of a file.
func answered(file string, n int) string {
	lines := strings.SplitAfter(file, "\n")
	lines[n] = strings.Replace(lines[n], ",,", ",Keep,", 1)
	return "\ufeff" + strings.Join(lines, "")
}

// Groups whose rows have several values are merged as a person says, and not before; the others are merged without a question.
func TestAsk(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		b.exec("INSERT INTO customer VALUES (6, 'c', '7'), (7, 'c', '7')")
		b.reversible(func() {
			p, file, err := b.asking("")
			noError(b.T, err)
			lines := strings.Split(file, "\n")
			if p.Questions != 2 || len(lines) != 7 || lines[0] != "question,decision,key,seen,column,value,same" || !strings.HasPrefix(lines[2], `1,,"[""2""]",v`) || !strings.HasSuffix(lines[2], ",phone,1,a") {
				b.Errorf("%d questions: %s", p.Questions, file)
			}
			if e := p.Estimate(); e.Batches != 1 || e.Written != 4 || !strings.Contains(strings.Join(p.Notes, "; "), "leaves out what waits for answers: 2 groups, with 3 losers") { // the loser and the winner of group c
				b.Errorf("without answers, the estimate is %+v with the notes %v", e, p.Notes)
			}
			report := b.try(p)
			if report.Merged != 1 || len(report.Refusals) != 2 || !strings.Contains(report.Refusals[0].Reason, "3 values of phone, and a person has to decide") {
				b.Errorf("without answers: %+v", report)
			}
			b.undo(report.Run)
			p, rest, err := b.asking(answered(file, 3))
			noError(b.T, err)
			if p.Questions != 1 || !strings.Contains(rest, "\n1,,\"[\"\"4\"\"]\"") {
				b.Errorf("%d questions are left: %s", p.Questions, rest)
			}
			report = b.try(p)
			if report.Merged != 3 || len(report.Refusals) != 1 {
				b.Errorf("with one answer: %+v", report)
			}
			b.want("SELECT concat(id, '/', coalesce(phone, '-')) FROM customer ORDER BY id", "1/2 4/- 5/9 6/7")
			b.undo(report.Run)
			p, _, err = b.asking(answered(answered(file, 1)[3:], 5))
			noError(b.T, err)
			run := b.merge(p).Run
			b.want("SELECT concat(id, '/', coalesce(phone, '-')) FROM customer ORDER BY id", "1/- 4/9 6/7")
			b.undo(run)
		})
	})
}

// What a person did not see is not decided about: neither a value nor a row that came later.
func TestAskedAndChanged(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		_, file, err := b.asking("")
		noError(b.T, err)
		answers := answered(file, 3)
		p, _, err := b.asking(answers)
		noError(b.T, err)
		for _, c := range []struct{ change, back, want string }{
			{"UPDATE customer SET phone = '3' WHERE id = 2", "UPDATE customer SET phone = '1' WHERE id = 2", "changed after a person decided about phone"},
			{"UPDATE customer SET phone = NULL WHERE id = 3", "UPDATE customer SET phone = '2' WHERE id = 3", "changed after"},
			{"INSERT INTO customer VALUES (8, 'a', '2')", "DELETE FROM customer WHERE id = 8", "changed after"},
			{"UPDATE customer SET email = 'x' WHERE id = 3", "UPDATE customer SET email = 'a' WHERE id = 3", "changed after"},
			{"UPDATE customer SET phone = 'same' WHERE email = 'a'", "UPDATE customer SET phone = CASE id WHEN 2 THEN '1' WHEN 3 THEN '2' END WHERE email = 'a'", "1 of 1 answers are about rows that were changed"},
		} {
			b.exec(c.change)
			_, _, err := b.asking(answers)
			b.refused(err, c.want)
			if strings.Contains(c.change, "'same'") {
				b.exec(c.back)
				continue
			}
			report := b.try(p)
			if report.Merged != 0 || len(report.Refusals) != 2 || !strings.Contains(report.Refusals[0].Reason, "changed after a person decided") {
				b.Errorf("%s: %+v", c.change, report)
			}
			b.undo(report.Run)
			b.exec(c.back)
		}
	})
}

// A column of other rows has no policy that asks, and a file that says nothing clear is refused with its line.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		b.exec("CREATE TABLE seat (id int PRIMARY KEY, customer_id int REFERENCES customer (id), note varchar(9), UNIQUE (customer_id))")
		q := request()
		q.Columns = []string{"seat.note=ask"}
		_, err := b.tryPlan("customer", "email", q)
		b.refused(err, "no rows of "+b.full("seat")+" are merged by this plan (plan with --child seat=winner")
		q.Yields = []string{"seat=winner"}
		_, err = b.tryPlan("customer", "email", q)
		b.refused(err, "ask is for columns of "+b.full("customer"))
	})
	const header = "question,decision,key,seen,column,value,same\n"
	for text, want := range map[string]string{
		"":                      "not a file of questions: it is empty, or not CSV",
		"group,decision\n":      `its columns are "group,decision", want question, decision, key`,
		"question,\"dec\"ision": "read the questions: parse error on line 1",
		"group,decision,key,seen,column,value,same\n":           "its columns are",
		header + "1,merge,k,v,phone,1,a\n":                      `line 2: "merge" is not a decision`,
		header + "1,keep,k,v,phone,1,a\n1,keep,l,v,phone,1,a\n": "line 3: the question 1 keeps two values",
		header + "1,,k,v,phone,1,a\n1,,l,v,name,1,a\n":          "line 3: the question 1 is about phone and name",
		header + "1,,k,v,phone,1,a\n2,,k,v,phone,1,a\n":         "line 3: the row k is in two questions about phone",
		header + "1,,k\n": "wrong number of fields",
	} {
		if _, err := dedupe.ReadAnswers(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := dedupe.ReadAnswers(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a file that cannot be read: %v", err)
	}
	if all, err := dedupe.ReadAnswers(strings.NewReader(header + "1,,k,v,phone,1,a\n")); err != nil || len(all) != 0 {
		t.Errorf("got %v, %v", all, err)
	}
}
