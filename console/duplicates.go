package console

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/schema/dedupe"
)

const (
	// undoScope is that of the records of verdicts about merged duplicates.
	undoScope = verdict.OwnScopes + "dedupe-verdict"
	// maxRecordBytes bounds the key of a row in an undo.
	maxRecordBytes = 1 << 10

	fieldWhat   = "what"   // run, group or record
	fieldNumber = "number" // of the group
	fieldRecord = "record" // the key of a row that was merged
	fieldDrop   = "drop_index"
)

// duplicatesPage lists runs that merged duplicates, and follows a merged row.
type duplicatesPage struct {
	Off    bool // the console has no business database
	Runs   []runView
	Older  string
	Key    string // of the row to follow
	Table  string
	Traces []dedupe.Trace
}

// runView is a run with its state in one word.
type runView struct {
	dedupe.State

	Word, Began, Ended string
}

func viewRun(s *dedupe.State) runView {
	r := runView{*s, "unfinished", operatorview.Time(s.Started), ""}
	switch {
	case s.Undone != nil:
		r.Word, r.Ended = "undone", operatorview.Time(*s.Undone)
	case s.Finished != nil:
		r.Word, r.Ended = "finished", operatorview.Time(*s.Finished)
	}
	return r
}

func (c *Console) duplicates(k *call) {
	q := k.URL.Query()
	p := duplicatesPage{Off: c.database == nil, Key: q.Get("key"), Table: q.Get("table")}
	if !p.Off {
		ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
		defer cancel()
		before, _ := strconv.ParseInt(q.Get("before"), 10, 64) // without a number, from the last one
		all, err := c.database.Recent(ctx, before, pageRecords+1)
		if err == nil && p.Key != "" && len(p.Key) <= maxRecordBytes {
			p.Traces, err = c.database.Show(ctx, p.Table, p.Key)
		}
		if err != nil {
			c.databaseFailed(k, err)
			return
		}
		for i := range all {
			if len(p.Runs) == pageRecords {
				p.Older = "?" + url.Values{"before": {strconv.FormatInt(p.Runs[pageRecords-1].Run, 10)}}.Encode()
				break
			}
			p.Runs = append(p.Runs, viewRun(&all[i]))
		}
	}
	c.show(k, http.StatusOK, "duplicates", "Merged duplicates", p)
}

// databaseFailed says that the business database cannot be read now.
func (c *Console) databaseFailed(k *call, err error) {
	c.fail(k, "The business database does not answer", "Load this page again when it does. It says: "+err.Error())
}

// runPage shows a run, and the form to undo it.
type runPage struct {
	runView
	form

	Kept []dedupe.Kept // rows that an undo has just left as they are
	More int           // others
	Lost string        // why the run cannot be read, on a page that keeps what was typed
}

// showRun shows a run.
func (c *Console) showRun(k *call, status int) {
	number, err := strconv.ParseInt(k.PathValue("run"), 10, 64)
	if err != nil || c.database == nil {
		c.missing(k, "This run does not exist", "A run has a number; the list of merged duplicates has all.")
		return
	}
	ctx, cancel := context.WithTimeout(k.Context(), pageTimeout)
	defer cancel()
	all, err := c.database.Recent(ctx, number+1, 1)
	if err != nil && k.form.Problem == "" {
		c.databaseFailed(k, err)
		return
	}
	p := runPage{form: k.form}
	if err != nil { // what was typed stays on the page
		p.Lost, p.Run = err.Error(), number
		c.show(k, status, "run", fmt.Sprintf("Run %d", number), p)
		return
	}
	p.Kept = k.kept[:min(len(k.kept), pageRecords)]
	p.More = len(k.kept) - len(p.Kept)
	if len(all) > 0 && all[0].Run == number {
		p.runView = viewRun(&all[0])
		c.show(k, status, "run", fmt.Sprintf("Run %d", number), p)
		return
	}
	c.missing(k, "This run does not exist", "The list of merged duplicates has all that are known in this database.")
}

// undo takes a run back, or a part of it.
func (c *Console) undo(k *call) (string, *refusal) {
	run, err := strconv.ParseInt(k.PathValue("run"), 10, 64)
	if err != nil || run < 1 || c.database == nil {
		return "", nil // the page says that there is none
	}
	target, no := target(run, k.PostForm)
	if no != nil {
		return "", no
	}
	reason := strings.TrimSpace(k.PostFormValue(string(operatorview.FieldReason)))
	if err := operatorview.CheckReason(reason, label); err != nil {
		return "", refused(err)
	}
	by := k.by()
	what := fmt.Sprintf("run %d", run)
	switch {
	case target.Group > 0:
		what += fmt.Sprintf(", group %d", target.Group)
	case target.Record != "":
		what += fmt.Sprintf(", record %.60s", strconv.QuoteToASCII(target.Record))
	}
	key := semel.Key{Scope: undoScope, Name: what + " " + rand.Text()}
	if _, err := c.records.Decide(k.Context(), by, "undo", key, semel.Settlement{State: semel.StateCompleted, Note: reason}); err != nil {
		return "", &refusal{http.StatusServiceUnavailable, "Nothing was undone: the store did not take the entry of the audit trail. " + err.Error(), ""}
	}
	report, err := c.database.Undo(k.Context(), target, &dedupe.Options{By: by.Name})
	c.logAct(k, "undone", what, err)
	if err != nil {
		return "", notUndone(report, err)
	}
	k.form = form{Done: fmt.Sprintf("Undone: %d rows are as they were.", report.Restored)}
	if report.Restored == 1 {
		k.form.Done = "Undone: 1 row is as it was."
	}
	k.kept = report.Kept
	return "", nil
}

// target reads what a form asks to undo.
func target(run int64, form url.Values) (dedupe.Target, *refusal) {
	t := dedupe.Target{Run: run, DropIndex: form.Has(fieldDrop)}
	wrong := func(field, text string) (dedupe.Target, *refusal) {
		return t, &refusal{http.StatusUnprocessableEntity, "Nothing was undone: " + text, field}
	}
	switch form.Get(fieldWhat) {
	case "run":
	case "group":
		var err error
		if t.Group, err = strconv.ParseInt(strings.TrimSpace(form.Get(fieldNumber)), 10, 64); err != nil || t.Group < 1 {
			return wrong(fieldNumber, "a group has a number, 1 or more.")
		}
	case "record":
		if t.Record = strings.TrimSpace(form.Get(fieldRecord)); t.Record == "" || len(t.Record) > maxRecordBytes {
			return wrong(fieldRecord, "type the key of the row that was merged.")
		}
	default:
		return wrong(fieldWhat, "choose the run, a group or a record.")
	}
	return t, nil
}

// notUndone says why an undo ended early.
func notUndone(report *dedupe.Undone, err error) *refusal {
	switch {
	case errors.Is(err, dedupe.ErrBusy):
		return &refusal{http.StatusConflict, "Nothing was undone: " + err.Error() + ".", ""}
	case errors.Is(err, dedupe.ErrRefused) && (report == nil || report.Restored == 0):
		return &refusal{http.StatusConflict, "Nothing was undone: " + err.Error() + ".", ""}
	}
	done := int64(0)
	if report != nil {
		done = report.Restored
	}
	return &refusal{http.StatusServiceUnavailable, fmt.Sprintf("It ended with %s restored: what is done stays, and the same form goes on from there. %s", texts.Count(done, "row"), err), ""}
}
