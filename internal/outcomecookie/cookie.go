// Package outcomecookie writes and reads the cookie that gives the outcomes of the
// last forms to the scripts of a page, and to the page that follows. It is not a
// secret, and anyone may have written the cookie that comes back: docs/browser.md
// says how scripts use it.
package outcomecookie

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/outcomelog"
)

const (
	// Name is the cookie's.
	Name = "semel_outcome"

	maxOutcomes = 8
	maxIDBytes  = 64
)

// Outcome is the outcome of one form.
type Outcome struct {
	ID     string // of its token, or its key
	Word   string
	Status int
	Words  string // whose words the page that follows uses, 16 hexadecimal digits; "" for Semel's
}

// The words of an outcome. The first three say that there is nothing left to send.
const (
	Executed = string(outcomelog.Executed)
	Replayed = string(outcomelog.Replayed)
	Seen     = "seen" // replayed, and the reader saw a notice
	InFlight = string(outcomelog.InFlight)
	Unknown  = string(outcomelog.Unknown)
	Refused  = "refused"
)

// WordOf returns the word for an answer: by the name of the problem that it is, if it
// is one, and by its Idempotency-Status.
func WordOf(problem, status string) string {
	switch problem {
	case "in-flight":
		return InFlight
	case "outcome-unknown", "commit-unknown":
		return Unknown
	case "response-not-kept", "response-unreadable", "duplicate":
		return Executed // it was carried out; only its result is gone
	}
	switch outcomelog.Outcome(status) { //nolint:exhaustive // no other one is a value of Idempotency-Status
	case outcomelog.Executed, outcomelog.Unprotected:
		return Executed
	case outcomelog.Replayed:
		return Replayed
	case outcomelog.Unknown, outcomelog.NotStored:
		return Unknown
	}
	return Refused
}

// Line returns the Set-Cookie line with the outcomes. The cookie lives as long as what scripts remember of a form, until the
// browser closes: a form whose outcome is forgotten earlier would go on with its old token.
func Line(outcomes []Outcome, secure bool) string {
	words := make([]string, len(outcomes))
	for i, o := range outcomes {
		words[i] = o.ID + ":" + o.Word + ":" + strconv.Itoa(o.Status)
		if o.Words != "" {
			words[i] += ":" + o.Words
		}
	}
	return (&http.Cookie{ //nolint:gosec // public: scripts read it.
		Name: Name, Value: strings.Join(words, "/"), Path: "/", SameSite: http.SameSiteLaxMode, Secure: secure,
	}).String()
}

// Parse reads the cookie's value. It leaves out entries that Semel does not
// write.
func Parse(value string) []Outcome {
	var all []Outcome
	for entry := range strings.SplitSeq(value, "/") {
		parts, words := strings.Split(entry, ":"), ""
		if len(parts) == 4 && isDigest(parts[3]) {
			parts, words = parts[:3], parts[3]
		}
		if len(parts) != 3 || !IsID(parts[0]) || len(all) == maxOutcomes {
			continue
		}
		status, err := strconv.Atoi(parts[2])
		if err != nil || status < 100 || status > 999 {
			continue
		}
		switch parts[1] {
		case Executed, Replayed, Seen, InFlight, Unknown, Refused:
			all = append(all, Outcome{parts[0], parts[1], status, words})
		}
	}
	return all
}

// Add puts an outcome before the others. It replaces the one of the same form; the
// oldest of too many is forgotten.
func Add(all []Outcome, o Outcome) []Outcome {
	others := slices.DeleteFunc(slices.Clone(all), func(other Outcome) bool { return other.ID == o.ID })
	return append([]Outcome{o}, others[:min(len(others), maxOutcomes-1)]...)
}

func isDigest(s string) bool { return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == "" }

// IsID reports whether the cookie can name a form by s: base64url, as a token's id
// and a UUID are, and not too long.
func IsID(s string) bool {
	return s != "" && len(s) <= maxIDBytes && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}
