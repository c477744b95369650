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

// doors returns the middleware in front of the handlers: one for forms, one for programs. Each
// runs what it lets in inside of one transaction with the recorded answer.
func (a *App) doors(logger *slog.Logger) (tallybook.Doors, error) {
	forms, api := a.route("forms"), a.route("api")
	tokens, err := a.newFormTokens(forms.Name, forms.Form.Lifetime)
	if err != nil {
		return tallybook.Doors{}, err
	}
	formDoor, err := a.door(forms, tallybook.Session, logger, &semelhttp.Options{
		Key: tokens, Fingerprint: semelhttp.FingerprintOptions{Func: tokens.Fingerprint},
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
		Visitor: tokens.NewGuest,
		Token:   func(r *http.Request) string { return mint(tokens, r) },
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

// logged writes a line for each request, which distinguishes what a person did from
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

// caller identifies programs, as the rules file says.
func caller(r *http.Request) string {
	if credentials := r.Header.Get("Authorization"); credentials != "" {
		return "authorization " + credentials
	}
	return "anyone"
}

// sayReplayed tells a person whose form had arrived before that it was done once.
func sayReplayed(next http.Handler) http.Handler {
	said := map[string]string{
		"en": "You sent this more than once; it was saved only once.",
		"sv": "Du skickade det här mer än en gång, men det sparades bara en gång.",
		"hi": "आपने इसे एक से अधिक बार भेजा; यह केवल एक बार सहेजा गया।",
		"zh": "您多次提交了此表单，但只保存了一次。",
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
		tallybook.SetFlash(w, w.Header().Get("Location"), w.text)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets [http.ResponseController] through.
func (w *replayWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
