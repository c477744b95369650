package protected

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// doors are what requests go through: one for forms, one for programs. Each
// runs what it lets in inside of one transaction with the recorded answer.
func (a *App) doors(logger *slog.Logger) (tallybook.Doors, error) {
	forms, api := a.route("forms"), a.route("api")
	key, err := a.newFormKey(forms.Name, forms.Form.Lifetime)
	if err != nil {
		return tallybook.Doors{}, err
	}
	formDoor, err := a.door(forms, tallybook.Session, logger, &semelhttp.Options{
		Key: key, Fingerprint: semelhttp.FingerprintOptions{Func: sameForm},
	})
	if err != nil {
		return tallybook.Doors{}, err
	}
	apiDoor, err := a.door(api, caller, logger, &semelhttp.Options{})
	if err != nil {
		return tallybook.Doors{}, err
	}
	return tallybook.Doors{
		Form:    func(next http.Handler) http.Handler { return sayReplayed(formDoor.Handler(next)) },
		API:     apiDoor.Handler,
		Token:   key.token,
		Explain: explain,
	}, nil
}

// door is a middleware with the policy of a route of the rules file.
func (a *App) door(route rules.Route, who func(*http.Request) string, logger *slog.Logger, o *semelhttp.Options) (*semelhttp.Middleware, error) {
	guard, err := a.guard.With(route.Policy)
	if err != nil {
		return nil, err
	}
	o.Required = route.Required
	o.Transactor = a.store.Transactor()
	if logger != nil {
		o.OnDecision = func(ctx context.Context, d semelhttp.Decision) {
			logger.InfoContext(ctx, "create", slog.String("outcome", string(d.Outcome)), slog.String("route", route.Name),
				slog.String("intent", d.Digest.String()), slog.Int("status", d.Status), slog.Int("attempt", d.Attempt))
		}
	}
	return semelhttp.New(guard, semelhttp.ScopeBy(who), o)
}

// caller tells programs apart, as the rules file says.
func caller(r *http.Request) string {
	if credentials := r.Header.Get("Authorization"); credentials != "" {
		return "authorization " + credentials
	}
	return "anyone"
}

// explain puts a conflict into the words of the rules file, in the language of
// whoever sent r.
func explain(r *http.Request, err error) error {
	conflict, ok := errors.AsType[*dbguard.Conflict](err)
	if !ok || conflict.Rule == nil {
		return err
	}
	language := rules.Language(r.Header.Get("Accept-Language"))
	text := conflict.Rule.Message(language, nil)
	return &tallybook.ConflictError{Rule: conflict.Rule.Name, Fields: tallybook.FieldErrors{
		{Field: conflict.Fields[0], Message: text, Lang: language},
	}}
}

// sayReplayed tells a person whose form had arrived before that it was done once.
func sayReplayed(next http.Handler) http.Handler {
	said := map[string]string{
		"en": "This was sent more than once, and done once.",
		"sv": "Detta skickades mer än en gång och utfördes en gång.",
		"hi": "यह एक से अधिक बार भेजा गया था, और एक ही बार किया गया।",
		"zh": "这份表单被发送了多次，但只处理了一次。",
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&replayWriter{ResponseWriter: w, text: said[rules.Language(r.Header.Get("Accept-Language"))]}, r)
	})
}

// replayWriter adds a sentence for the next page to a replayed redirect.
type replayWriter struct {
	http.ResponseWriter

	text string
}

// WriteHeader implements [http.ResponseWriter].
func (w *replayWriter) WriteHeader(status int) {
	if status == http.StatusSeeOther && w.Header().Get(semelhttp.ReplayedHeader) == "true" {
		tallybook.SetFlash(w, w.text)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets [http.ResponseController] through.
func (w *replayWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// route and rule find what the rules file, which is part of this program, has
// under a name.
func (a *App) route(name string) rules.Route {
	return a.file.Routes[slices.IndexFunc(a.file.Routes, func(r rules.Route) bool { return r.Name == name })]
}

func (a *App) rule(name string) *rules.Unique {
	return &a.file.Unique[slices.IndexFunc(a.file.Unique, func(u rules.Unique) bool { return u.Name == name })]
}
