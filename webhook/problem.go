package webhook

import (
	"errors"
	"net/http"
	"strings"

	"github.com/semel-dev/semel/semelhttp"
)

var (
	errEvent  = errors.New("webhook: the signed body does not name its event")
	errMethod = errors.New("webhook: deliveries are POST requests")
)

// row is one refusal.
type row struct {
	err     error
	problem semelhttp.Problem
}

// methodRow is the row of errMethod.
const methodRow = 0

// problems is the table from errors to answers.
func problems() []row {
	return []row{
		methodRow: {errMethod, semelhttp.Problem{
			Name: "method-not-allowed", Page: "for-programs", Title: "Webhooks are POST requests", Status: http.StatusMethodNotAllowed,
			Detail: "Nothing was done. Deliver the event with POST.",
		}},
		{ErrSignature, semelhttp.Problem{
			Name: "signature-invalid", Page: "for-programs", Title: "The signature is not valid", Status: http.StatusUnauthorized,
			Detail: "Nothing was done. Sign the body as it is sent, to its last byte, with the secret of this endpoint.",
		}},
		{ErrTimestamp, semelhttp.Problem{
			Name: "signature-expired", Page: "for-programs", Title: "The signature is not recent", Status: http.StatusUnauthorized, Retryable: true,
			Detail: "Nothing was done. Sign each delivery at the time when it is sent, a repetition as well, and check the clock of the sender.",
		}},
		{ErrMalformed, semelhttp.Problem{
			Name: "signature-malformed", Page: "for-programs", Title: "The signature cannot be read", Status: http.StatusBadRequest,
			Detail: "Nothing was done. Send each header of the signature once, in the form that its scheme describes.",
		}},
		{errEvent, semelhttp.Problem{
			Name: "event-missing", Page: "for-programs", Title: "The event has no name", Status: http.StatusBadRequest,
			Detail: "Nothing was done. The signed body must be JSON and hold the id of the event where this endpoint expects it.",
		}},
	}
}

// Refusals returns the problems that deliveries can be refused with, for the published policy.
func (v *Verifier) Refusals() []semelhttp.Problem {
	var all []semelhttp.Problem
	for _, row := range problems() {
		all = append(all, row.problem)
	}
	return all
}

// refusal makes the answer to an error of the table. Its reason says more than the row.
func refusal(err error) error {
	for _, row := range problems() {
		if !errors.Is(err, row.err) {
			continue
		}
		p := row.problem
		if reason, more := strings.CutPrefix(err.Error(), row.err.Error()+": "); more {
			p.Extra = map[string]any{"reason": reason}
		}
		return &semelhttp.UnverifiedError{Problem: p, Err: err}
	}
	return err
}
