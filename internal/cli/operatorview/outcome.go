package operatorview

import (
	"fmt"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// Outcome is a recorded HTTP answer in JSON. Its fields are a contract, as
// those of [Record] are.
type Outcome struct {
	Status      int    `json:"status"`
	Location    string `json:"location,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Bytes       int    `json:"bytes"`
	BodyOmitted bool   `json:"body_omitted"` // too large, or not known: only a summary is kept
	// EncryptedWith is the id of the missing key; the other fields are then empty.
	EncryptedWith string `json:"encrypted_with,omitempty"`
}

// Reveal decrypts the outcome by the guard's keys, or leaves it encrypted and
// returns the reason.
func Reveal(guard *semel.Guard, rec *semel.Record) error {
	revealed := *rec
	if err := guard.Reveal(&revealed); err != nil {
		return fmt.Errorf("read the recorded answer: %w", err)
	}
	*rec = revealed
	return nil
}

// ReadOutcome returns the recorded HTTP answer, or nil where there is none or
// where it was recorded through another door than HTTP.
func ReadOutcome(rec *semel.Record) *semelhttp.Response {
	if len(rec.Outcome) == 0 {
		return nil
	}
	response, err := semelhttp.ParseResponse(rec.Outcome)
	if err != nil {
		return nil
	}
	return response
}

func viewOutcome(rec *semel.Record) *Outcome {
	r := ReadOutcome(rec)
	if key, ok := semel.SealedWith(rec.Outcome); ok {
		return &Outcome{EncryptedWith: key, Bytes: len(rec.Outcome)}
	}
	if r == nil {
		return nil
	}
	return &Outcome{
		Status: r.Status, Location: r.Header.Get("Location"), ContentType: r.Header.Get("Content-Type"),
		Bytes: len(r.Body), BodyOmitted: r.BodyOmitted,
	}
}

// bodiless reports whether an answer with this status is complete without a
// body.
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusResetContent || (status >= 300 && status < 400)
}
