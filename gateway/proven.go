package gateway

import (
	"errors"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/internal/forms"
	"github.com/semel-dev/semel/gateway/internal/scope"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// errClaimed is the reason for withholding a recorded answer.
var errClaimed = errors.New("the caller's name is claimed with credentials for one request, which only the application can check")

// provenOnly returns a BeforeReplay of semelhttp.Options that withholds recorded answers from callers whose name is only
// claimed. A stranger can send the user name of a Digest, and the application, which checks the rest, never sees a
// repetition.
func provenOnly(sources []rules.ScopeSource) func(*http.Request, *semel.Record) error {
	return func(r *http.Request, rec *semel.Record) error {
		if rec == nil || rec.State != semel.StateCompleted || forms.Proven(r) || !scope.Of(r, sources).Claimed {
			return nil
		}
		return &semelhttp.DeniedError{Answer: http.HandlerFunc(refuseClaimed), Err: errClaimed}
	}
}

// refuseClaimed reports that the request was carried out, without its answer.
func refuseClaimed(w http.ResponseWriter, r *http.Request) {
	semelhttp.WriteProblem(w, r, semelhttp.Problem{
		Name: "duplicate", Page: "duplicate", Title: "It was already done", Status: http.StatusConflict,
		Detail: "This request repeats one that was carried out. Its answer is not shown, because the credentials of this scheme are for one request each and cannot be checked here. " +
			"Look the result up; do not send the request again with another key.",
	})
}
