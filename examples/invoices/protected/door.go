package protected

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/outcomelog"
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
		Refuse:  refuse,
		Policy:  apiDoor.PolicyHandler(),
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
	o.OnDecision = logged(logger, route.Name)
	return semelhttp.New(guard, semelhttp.ScopeBy(who), o)
}

// logged writes a line for each request, by which what a person did is told from
// what was only sent again. It holds no key and no value.
func logged(logger *slog.Logger, route string) func(context.Context, semelhttp.Decision) {
	if logger == nil {
		return nil
	}
	log := outcomelog.To(logger)
	return func(ctx context.Context, d semelhttp.Decision) {
		event := d.Event()
		event.Route = route
		log(ctx, event)
	}
}

// caller tells programs apart, as the rules file says.
func caller(r *http.Request) string {
	if credentials := r.Header.Get("Authorization"); credentials != "" {
		return "authorization " + credentials
	}
	return "anyone"
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
