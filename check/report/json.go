package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/semel-dev/semel/check"
)

// Version is the version of the JSON document. It grows when a member changes its meaning or is removed, not for a new
// member.
const Version = 1

// document is the output of [JSON].
type document struct {
	Version  int    `json:"version"`
	Headline string `json:"headline"`
	Fine     bool   `json:"fine"`
	Counts   counts `json:"counts"`
	*check.Report

	Results []documented `json:"results"` // instead of the report's
}

type counts struct {
	Pass       int `json:"pass"`
	Fail       int `json:"fail"`
	Incomplete int `json:"incomplete"`
	Known      int `json:"known"`
	Echo       int `json:"echo"`
	Skipped    int `json:"skipped"`
}

// documented is a result with additional members for some of them.
type documented struct {
	*check.Result

	// Reproduce has curl commands for checks that did not pass.
	Reproduce string `json:"reproduce,omitempty"`
	// Exchanges are written for checks that did not pass.
	Exchanges []check.Exchange `json:"exchanges,omitempty"`
}

// JSON writes the report as one JSON object, followed by a line feed. Checks that did not pass include their requests
// and answers.
func JSON(w io.Writer, r *check.Report) error {
	d := document{
		Version: Version, Headline: Headline(r), Fine: r.Fine(), Report: r, Results: []documented{},
		Counts: counts{
			Pass: r.Count(check.Pass), Fail: r.Count(check.Fail), Incomplete: r.Count(check.Incomplete),
			Known: r.Count(check.Known), Echo: r.Count(check.Echo), Skipped: r.Count(check.Skipped),
		},
	}
	for i := range r.Results {
		one := documented{Result: &r.Results[i]}
		if troubled(one.Result) {
			one.Exchanges, one.Reproduce = one.Result.Exchanges, Reproduce(one.Result)
		}
		d.Results = append(d.Results, one)
	}
	var text strings.Builder
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	if err := to.Encode(&d); err != nil {
		return err
	}
	_, err := io.WriteString(w, escaped(text.String()))
	return err
}

// escaped writes invisible characters and those that a terminal obeys as JSON escapes: encoding/json leaves C1
// controls, and those that change the direction of text.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// troubled reports whether a reader wants to see what was sent.
func troubled(one *check.Result) bool {
	return one.Verdict == check.Fail || one.Verdict == check.Known || one.Verdict == check.Echo || one.Verdict == check.Incomplete
}
