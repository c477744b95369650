package adminapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/semelhttp"
)

// manual is linked from every refusal.
const manual = "https://github.com/semel-dev/semel/blob/main/docs/admin-api.md"

// refusal is an error with its answer.
type refusal struct {
	semelhttp.Problem

	header map[string]string
}

// Error returns the text for the caller.
func (r *refusal) Error() string { return r.Title + ": " + r.Detail }

// errPanicked replaces the text of a panic, which only the log has.
var errPanicked = errors.New("adminapi: a call panicked")

func refuse(status int, name, title, detail string) *refusal {
	return &refusal{Problem: semelhttp.Problem{Status: status, Name: name, Title: title, Detail: detail}}
}

// The refusals of calls that are not let in.
var (
	errOff = refuse(http.StatusNotFound, "admin-api-off", "The admin API is off",
		"No tokens are configured, so all calls are refused. Give the program a file of tokens (semel gateway --admin-tokens-file).")
	errCrossSite = refuse(http.StatusForbidden, "cross-site", "Not for pages in a browser",
		"Nothing was done. This looks like a request of a web page, and the admin API takes none: it carries an Origin header, or Sec-Fetch-Site says that it comes from elsewhere.")
	errReadOnly = refuse(http.StatusForbidden, "read-only", "This token may only look",
		"Nothing was done. Use a token whose line does not end with the word read.")
	errTokenMissing = refuse(http.StatusUnauthorized, "token-missing", "A token is needed",
		"Nothing was done. Send the token of an operator: Authorization: Bearer TOKEN.").
		with("WWW-Authenticate", `Bearer realm="semel admin API"`)
	errTokenWrong = refuse(http.StatusUnauthorized, "token-wrong", "The token is not known",
		"Nothing was done. Send the token of an operator in one header line: Authorization: Bearer TOKEN.").
		with("WWW-Authenticate", `Bearer realm="semel admin API", error="invalid_token"`)
	// errLogInWrong is for a person, who typed it.
	errLogInWrong = refuse(http.StatusUnauthorized, "token-wrong", "The token is not known",
		"You are not logged in. Copy the whole token, without the name before it, and log in again. If it still fails, ask the administrator of this program for a line of your own.")
)

// with adds a header.
func (r *refusal) with(name, value string) *refusal {
	r.header = map[string]string{name: value}
	return r
}

// after says that the call can be made again after a pause.
func (r *refusal) after(pause time.Duration) *refusal {
	r.Retryable, r.RetryAfter = true, pause
	return r
}

// badField refuses a request because of one of its fields or parameters.
func badField(field, format string, args ...any) *refusal {
	r := refuse(http.StatusBadRequest, "bad-request", "The request is not valid", "Nothing was done: "+fmt.Sprintf(format, args...)+".")
	if field != "" {
		r.Extra = map[string]any{"field": fmt.Sprintf("%.40s", field)}
	}
	return r
}

// problemOf is the one table from errors to answers.
func (a *API) problemOf(ctx context.Context, c *call, err error) *refusal {
	var (
		refused *refusal
		field   *operatorview.FieldError
		decided *semel.Error
	)
	switch {
	case errors.As(err, &refused):
		answer := *refused
		answer.PolicyURL = manual
		return &answer
	case errors.As(err, &field):
		refused = badField(string(field.Field), "%s", field.Text)
	case errors.Is(err, operator.ErrVerdict): // a name is checked when its token is made
		refused = badField(string(operatorview.FieldReason), "%s", strings.TrimPrefix(err.Error(), operator.ErrVerdict.Error()+": "))
	case errors.Is(err, semel.ErrNotFound):
		refused = refuse(http.StatusNotFound, "not-found", "No such record exists",
			"Nothing was done. The store has no such record, or no longer. An intent that has not arrived yet is cancelled by its scope and name.")
	case errors.As(err, &decided) && errors.Is(err, semel.ErrChanged) && decided.Record != nil:
		refused = a.changed(c, decided.Record)
	case errors.As(err, &decided) && errors.Is(err, semel.ErrInFlight):
		refused = refuse(http.StatusConflict, "being-executed", "It is being executed now",
			"Nothing was done. Its holder has the claim until the time in Retry-After, unless it renews it. Look again then.").
			after(max(time.Second, decided.RetryAfter))
	case errors.As(err, &decided) && errors.Is(err, semel.ErrSettled) && decided.Record != nil:
		state := a.view(new(*decided.Record)).State
		refused = refuse(http.StatusConflict, "settled", "It is settled already", "Nothing was done. The record is "+state+", and that is final.")
		refused.Extra = map[string]any{"state": state}
	case errors.Is(err, semel.ErrCursor):
		refused = badField(paramAfter, "%q must be the \"next\" of the previous page", paramAfter)
	case errors.Is(err, semel.ErrClosed):
		refused = later("shutting-down", "This server is shutting down", "Call again; another server may answer.")
	case errors.Is(err, errPanicked):
		refused = refuse(http.StatusInternalServerError, "internal", "Something went wrong",
			"This is a fault of the service; its log says more. Look the record up before you try again.")
	default:
		refused = a.storeProblem(ctx, c, err)
	}
	refused.PolicyURL = manual
	return refused
}

// storeProblem answers when the store did not do what it was asked for.
func (a *API) storeProblem(ctx context.Context, c *call, err error) *refusal {
	if ctx.Err() == nil { // otherwise the caller has gone
		a.log.LogAttrs(ctx, slog.LevelError, "the store failed a call of the admin API", slog.String("error", err.Error()))
	}
	if reads(c.Method) {
		return later("store-unavailable", "Not possible right now", "The store does not answer. Wait a moment, then call again.")
	}
	return later("store-unavailable", "Not possible right now",
		"The store did not answer in time, and it may have taken the verdict. Wait a moment, then look the record up; sending the same verdict again does no harm.")
}

func later(name, title, detail string) *refusal {
	return refuse(http.StatusServiceUnavailable, name, title, detail).after(time.Second)
}
