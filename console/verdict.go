package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
)

// label returns the words of a verdict's field on the page.
func label(f operatorview.Field) string {
	return map[operatorview.Field]string{
		operatorview.FieldAs: "the verdict", operatorview.FieldReason: "the reason", operatorview.FieldRetention: "the time to remember it",
		operatorview.FieldStatus: "the status", operatorview.FieldLocation: "the location", operatorview.FieldContentType: "the content type",
		operatorview.FieldBody: "the body", operatorview.FieldNoBody: "“the body is not known”", operatorview.FieldResult: "the result",
	}[f]
}

// settle settles the record as the form says.
func (c *Console) settle(k *call) (string, *refusal) {
	digest, err := semel.ParseDigest(k.PathValue("digest"))
	if err != nil {
		return "", nil // the page says that there is none
	}
	seen, err := strconv.ParseUint(k.PostFormValue(fieldSeen), 10, 64)
	if err != nil {
		return "", &refusal{http.StatusBadRequest, "Nothing was done: the form does not say which attempt it is about.", ""}
	}
	settlement, err := c.settlement(k.Context(), digest, k.PostForm)
	if err == nil {
		_, err = c.records.Resolve(k.Context(), k.by(), digest, semel.Fence(seen), settlement)
	}
	c.logAct(k, k.PostFormValue(string(operatorview.FieldAs)), digest.String()[:12], err)
	c.waiting.forget()
	if err != nil {
		return "", refused(err)
	}
	c.sessions.tell(k.Request, "The verdict was taken. "+taken(settlement.State, digest))
	if settlement.State == semel.StateReleased {
		return Path + "unknown", nil
	}
	return Path + "records/" + digest.String(), nil
}

// taken names what a verdict has done.
func taken(as semel.State, digest semel.Digest) string {
	what := "Record " + digest.String()[:12]
	switch as { //nolint:exhaustive // these are the verdicts.
	case semel.StateReleased:
		return what + " did not happen: the next attempt executes."
	case semel.StateCancelled:
		return what + " must not happen: attempts are refused."
	}
	return what + " happened: attempts get what you gave."
}

// refused says why a verdict was not taken.
func refused(err error) *refusal {
	if wrong, ok := errors.AsType[*operatorview.FieldError](err); ok {
		return &refusal{http.StatusUnprocessableEntity, "Nothing was done: " + wrong.Text + ".", string(wrong.Field)}
	}
	for _, is := range []struct {
		err error
		why string
	}{
		{semel.ErrChanged, "the record changed while you looked at it. It is shown as it is now; decide anew."},
		{semel.ErrSettled, "it has been settled meanwhile, as is shown here."},
		{semel.ErrInFlight, "an attempt executes it right now."},
		{semel.ErrNotFound, "the record is gone."},
	} {
		if errors.Is(err, is.err) {
			return &refusal{http.StatusConflict, "Nothing was done: " + is.why, ""}
		}
	}
	return &refusal{http.StatusServiceUnavailable, "It is not certain whether the verdict was taken; this page shows what the store says now. " + err.Error(), ""}
}

// settlement reads the form about a record.
func (c *Console) settlement(ctx context.Context, digest semel.Digest, form url.Values) (semel.Settlement, error) {
	rec, err := c.guard.Store().Lookup(ctx, digest) // its scope and name, which no later attempt changes
	if err != nil {
		return semel.Settlement{}, err
	}
	of := kindOf(&rec)
	v, err := typedVerdict(form, of, c.guard.Policy().MaxOutcomeBytes)
	if err != nil {
		return semel.Settlement{}, err
	}
	s, err := v.Settlement()
	switch {
	case err != nil || v.Result == nil:
		return s, err
	case of == ofMessage, of == ofFunction:
		s.Outcome, err = semel.OutcomeOf(v.Result)
		return s, err
	}
	return s, v.Keep(&s, &rec)
}

// typedVerdict reads the form of a record of a kind. Its errors are [*operatorview.FieldError].
func typedVerdict(form url.Values, of kind, most int) (*operatorview.RecordVerdict, error) {
	get := func(f operatorview.Field) string { return strings.TrimSpace(form.Get(string(f))) }
	bounded := func(f operatorview.Field, n int) error {
		if n <= most {
			return nil
		}
		return &operatorview.FieldError{Field: f, Text: fmt.Sprintf("%s has %d bytes, at most %d are kept", label(f), n, most)}
	}
	v := &operatorview.RecordVerdict{As: get(operatorview.FieldAs), Reason: get(operatorview.FieldReason), Naming: label}
	var err error
	if text := get(operatorview.FieldRetention); text != "" {
		if v.Retention, err = time.ParseDuration(text); err != nil {
			return nil, &operatorview.FieldError{Field: operatorview.FieldRetention, Text: label(operatorview.FieldRetention) + " is a duration, such as 24h"}
		}
	}
	if v.As != "completed" { // what was typed of an answer belongs to that verdict alone
		return v, nil
	}
	switch result := get(operatorview.FieldResult); {
	case of == ofMessage:
		v.Result = json.RawMessage("{}") // of the consumer's function, which returns nothing
		return v, nil
	case of.Returns() && (result != "" || !of.Answers()):
		if result == "" {
			return nil, &operatorview.FieldError{Field: operatorview.FieldResult, Text: `“it happened” needs the result, such as "ch_17"; null where there is none`}
		}
		v.Result = json.RawMessage(result)
		return v, bounded(operatorview.FieldResult, len(result))
	}
	if v.Status, err = strconv.Atoi(get(operatorview.FieldStatus)); err != nil {
		return nil, &operatorview.FieldError{Field: operatorview.FieldStatus, Text: "“it happened” needs the status that attempts get, such as 201"}
	}
	v.Location, v.ContentType, v.NoBody = get(operatorview.FieldLocation), get(operatorview.FieldContentType), form.Has(string(operatorview.FieldNoBody))
	if body := form.Get(string(operatorview.FieldBody)); body != "" {
		v.Body = func() ([]byte, error) { return []byte(body), bounded(operatorview.FieldBody, len(body)) }
	}
	return v, nil
}
