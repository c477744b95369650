package protected

import (
	_ "embed"
	"errors"
	"net/http"
	"slices"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/rules"
)

//go:embed semel.yaml
var rulesFile []byte

// route and rule find what the rules file, which is part of this program, has
// under a name.
func (a *App) route(name string) rules.Route {
	return a.rules.Routes[slices.IndexFunc(a.rules.Routes, func(r rules.Route) bool { return r.Name == name })]
}

func (a *App) rule(name string) *rules.Unique {
	return &a.rules.Unique[slices.IndexFunc(a.rules.Unique, func(u rules.Unique) bool { return u.Name == name })]
}

// explain puts a conflict into the words of the rules file, in the language of
// the person who sent r.
func explain(r *http.Request, err error) error {
	conflict, ok := errors.AsType[*dbguard.Conflict](err)
	if !ok || conflict.Rule == nil {
		return err
	}
	outcomelog.NoteFrom(r.Context()).Say(outcomelog.Rejected, conflict.Rule.Name, conflict.Fields)
	language := rules.Language(r.Header.Get("Accept-Language"))
	text := conflict.Message(language, nil)
	return &tallybook.ConflictError{Fields: tallybook.FieldErrors{{Field: conflict.Fields[0], Message: text, Lang: language}}}
}

// refuse is explain for programs: a problem with the rule's name and fields.
func refuse(w http.ResponseWriter, r *http.Request, err error) bool {
	return dbguard.WriteConflict(w, r, err, nil)
}
