package main

import (
	"fmt"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// outcomeView is what --json says of a recorded HTTP answer.
type outcomeView struct {
	Status      int    `json:"status"`
	Location    string `json:"location,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	Bytes       int    `json:"bytes"`
	BodyOmitted bool   `json:"body_omitted"` // too large, or not known: only a summary is kept
	// EncryptedWith is the id of the key that is needed to read the rest, of
	// which nothing else is known.
	EncryptedWith string `json:"encrypted_with,omitempty"`
}

// readOutcome returns the recorded HTTP answer, or nil where there is none or
// where it was recorded through another door than HTTP.
func readOutcome(rec *semel.Record) *semelhttp.Response {
	if len(rec.Outcome) == 0 {
		return nil
	}
	response, err := semelhttp.ParseResponse(rec.Outcome)
	if err != nil {
		return nil
	}
	return response
}

func viewOutcome(rec *semel.Record) *outcomeView {
	r := readOutcome(rec)
	if key, ok := semel.SealedWith(rec.Outcome); ok {
		return &outcomeView{EncryptedWith: key, Bytes: len(rec.Outcome)}
	}
	if r == nil {
		return nil
	}
	return &outcomeView{
		Status: r.Status, Location: r.Header.Get("Location"), ContentType: r.Header.Get("Content-Type"),
		Bytes: len(r.Body), BodyOmitted: r.BodyOmitted,
	}
}

// outcomeText is the recorded answer in the few words of a list.
func outcomeText(rec *semel.Record) string {
	r := readOutcome(rec)
	key, encrypted := semel.SealedWith(rec.Outcome)
	switch {
	case encrypted:
		return "encrypted with key " + key
	case r == nil && rec.State != semel.StateCompleted:
		return "-"
	case r == nil && !rec.Kept:
		return "not kept"
	case r == nil:
		return size(len(rec.Outcome))
	case r.BodyOmitted:
		return fmt.Sprintf("%d, body not kept", r.Status)
	}
	return fmt.Sprintf("%d, %s", r.Status, size(len(r.Body)))
}

// size writes a number of bytes as people say it.
func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// bodiless reports whether an answer with this status is whole without a body.
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusResetContent || (status >= 300 && status < 400)
}
