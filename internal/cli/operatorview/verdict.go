package operatorview

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	// minRetention and maxRetention bound how long a verdict can be remembered;
	// the longest is that of a rules file.
	minRetention = time.Second
	maxRetention = 10 * 365 * 24 * time.Hour
	// maxHeaderBytes bounds a header of the answer that retries get: clients and
	// proxies refuse longer ones, and a verdict is final.
	maxHeaderBytes = 8 << 10
)

// Field is a part of a [RecordVerdict].
type Field string

// The fields of a verdict.
const (
	FieldAs          Field = "as"
	FieldReason      Field = "reason"
	FieldRetention   Field = "retention"
	FieldStatus      Field = "status"
	FieldLocation    Field = "location"
	FieldContentType Field = "content_type"
	FieldBody        Field = "body"
	FieldNoBody      Field = "no_body"
	FieldResult      Field = "result"
)

// FieldError names the field of a verdict that is not valid, and says why.
type FieldError struct {
	Field Field
	Text  string // names fields as the verdict's Naming does
}

// Error returns the text.
func (e *FieldError) Error() string { return e.Text }

// RecordVerdict is an operator's settlement of a record.
type RecordVerdict struct {
	As        string        // completed, released or cancelled
	Reason    string        // how the operator knows
	Retention time.Duration // how long the verdict is remembered; 0 for the policy's

	// The answer that later attempts get; of completed only.
	Status      int
	Location    string
	ContentType string
	// Body returns the answer's body. It is called when everything else is
	// right; its error is returned as it is. nil for no body.
	Body   func() ([]byte, error)
	NoBody bool // the body is not known
	// Result takes the place of an answer: the value that the function of a flow or of
	// its step would have returned, as JSON. nil for none.
	Result json.RawMessage

	// Naming returns the door's name of a field, for the text of an error.
	Naming func(Field) string
}

// Verdicts returns the values of [RecordVerdict.As].
func Verdicts() []string { return []string{"completed", "released", "cancelled"} }

// Settlement returns what the verdict means, but for a Result, which [RecordVerdict.Keep]
// adds. Its errors are [*FieldError], or that of Body.
func (v *RecordVerdict) Settlement() (semel.Settlement, error) {
	s := semel.Settlement{Note: v.Reason, Retention: v.Retention}
	if err := CheckReason(v.Reason, v.Naming); err != nil {
		return s, err
	}
	if v.Retention < 0 || (v.Retention > 0 && v.Retention < minRetention) {
		return s, v.wrong(FieldRetention, "%s %v is too short (at least %v)", v.Naming(FieldRetention), v.Retention, minRetention)
	}
	if v.Retention > maxRetention {
		return s, v.wrong(FieldRetention, "%s %v is too long (at most %v)", v.Naming(FieldRetention), v.Retention, maxRetention)
	}
	switch v.As {
	case "completed":
		s.State = semel.StateCompleted
		if v.Result != nil {
			return v.withResult(s)
		}
		return v.withAnswer(s)
	case "released":
		s.State = semel.StateReleased
	case "cancelled":
		s.State = semel.StateCancelled
	case "":
		return s, v.wrong(FieldAs, "settle it with %s: %s", v.Naming(FieldAs), strings.Join(Verdicts(), ", "))
	default:
		return s, v.wrong(FieldAs, "%s %q is not one of %s", v.Naming(FieldAs), v.As, strings.Join(Verdicts(), ", "))
	}
	if v.Result != nil {
		return s, v.wrong(FieldAs, "%s belongs to %s completed only", v.Naming(FieldResult), v.Naming(FieldAs))
	}
	if v.answers() {
		return s, v.wrong(FieldAs, "an answer (%s, %s, %s, %s, %s) belongs to %s completed only",
			v.Naming(FieldStatus), v.Naming(FieldLocation), v.Naming(FieldContentType), v.Naming(FieldBody), v.Naming(FieldNoBody), v.Naming(FieldAs))
	}
	return s, nil
}

// answers reports whether there is a part of an answer.
func (v *RecordVerdict) answers() bool {
	return v.Status != 0 || v.Location != "" || v.ContentType != "" || v.Body != nil || v.NoBody
}

func (v *RecordVerdict) withResult(s semel.Settlement) (semel.Settlement, error) {
	switch {
	case v.answers():
		return s, v.wrong(FieldResult, "%s is that of a flow or a step, and excludes an HTTP answer (%s, %s, %s, %s, %s)", v.Naming(FieldResult),
			v.Naming(FieldStatus), v.Naming(FieldLocation), v.Naming(FieldContentType), v.Naming(FieldBody), v.Naming(FieldNoBody))
	case !json.Valid(v.Result):
		return s, v.wrong(FieldResult, "%s %q is not JSON (a text needs quotes of its own: '\"ch_17\"')", v.Naming(FieldResult), v.Result)
	}
	s.Kept = true
	return s, nil
}

// Keep adds the Result, if there is one, to the settlement of the record: flows and
// steps keep it differently. Its errors are [*FieldError].
func (v *RecordVerdict) Keep(s *semel.Settlement, rec *semel.Record) (err error) {
	if v.Result == nil {
		return nil
	}
	if s.Outcome, err = flow.Outcome(rec, v.Result); err != nil {
		return v.wrong(FieldResult, "%s: %v", v.Naming(FieldResult), err)
	}
	return nil
}

// withAnswer adds the answer that later attempts get.
func (v *RecordVerdict) withAnswer(s semel.Settlement) (semel.Settlement, error) {
	switch {
	case v.Status < 200 || v.Status > 599:
		return s, v.wrong(FieldStatus, "%s completed needs the %s that retries get, 200 to 599", v.Naming(FieldAs), v.Naming(FieldStatus))
	case v.NoBody && v.Body != nil:
		return s, v.wrong(FieldNoBody, "%s and %s exclude each other", v.Naming(FieldNoBody), v.Naming(FieldBody))
	case !v.NoBody && v.Body == nil && !bodiless(v.Status):
		return s, v.wrong(FieldBody, "an answer with status %d has a body: give it with %s, or say %s when it is not known",
			v.Status, v.Naming(FieldBody), v.Naming(FieldNoBody))
	}
	answer := &semelhttp.Response{Status: v.Status, Header: http.Header{}, BodyOmitted: v.NoBody}
	for _, h := range []struct {
		field       Field
		name, value string
	}{{FieldLocation, "Location", v.Location}, {FieldContentType, "Content-Type", v.ContentType}} {
		if h.value != "" {
			answer.Header.Set(h.name, h.value)
		}
		if strings.ContainsFunc(h.value, func(r rune) bool { return r < ' ' || r == 0x7F }) {
			return s, v.wrong(h.field, "%s holds a line break or another control character", h.name)
		}
		if len(h.value) > maxHeaderBytes {
			return s, v.wrong(h.field, "%s has %d bytes, at most %d reach every client", h.name, len(h.value), maxHeaderBytes)
		}
	}
	var err error
	if v.Body != nil {
		if answer.Body, err = v.Body(); err != nil {
			return s, err
		}
	}
	if len(answer.Body) > 0 && (v.Status < 300 || v.Status == http.StatusNotModified) && bodiless(v.Status) {
		return s, v.wrong(FieldBody, "an answer with status %d has no body", v.Status)
	}
	if s.Outcome, err = answer.MarshalBinary(); err != nil {
		return s, v.wrong(FieldStatus, "%v", err)
	}
	s.Kept = !v.NoBody
	return s, nil
}

func (v *RecordVerdict) wrong(field Field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}

// CheckReason refuses a verdict without a reason, or with one that would be
// cut: with a [*FieldError].
func CheckReason(reason string, naming func(Field) string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return &FieldError{FieldReason, fmt.Sprintf("say how you know with %s; it is kept in the record", naming(FieldReason))}
	case len(reason) > semel.MaxNoteBytes:
		return &FieldError{FieldReason, fmt.Sprintf("%s has %d bytes, at most %d are kept", naming(FieldReason), len(reason), semel.MaxNoteBytes)}
	}
	return nil
}
