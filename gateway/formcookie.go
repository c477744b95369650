package gateway

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The cookies of the gateway's own. The upstream sees neither.
const (
	// visitorCookie tells apart who has nothing else that does.
	visitorCookie = "semel_visitor"
	// outcomeCookie tells the page what became of the last forms.
	outcomeCookie = "semel_outcome"

	visitorBytes   = 16
	maxOutcomes    = 8
	outcomeSeconds = 3600
	idDigits       = 22 // of a token's 16 bytes in base64url
)

// takeCookies returns the header without the gateway's own cookies, and their
// values; what is left stays as it was, byte for byte. The header is a copy where
// something was taken.
func takeCookies(h http.Header) (rest http.Header, visitor, outcomes string) {
	if !slices.ContainsFunc(h["Cookie"], func(line string) bool { return strings.Contains(line, "semel_") }) {
		return h, "", ""
	}
	var lines []string
	for _, line := range h["Cookie"] {
		var kept []string
		for pair := range strings.SplitSeq(line, ";") {
			switch name, value, _ := cutCookie(pair); name {
			case visitorCookie:
				visitor = value
			case outcomeCookie:
				outcomes = value
			default:
				kept = append(kept, pair)
			}
		}
		if len(kept) > 0 {
			lines = append(lines, strings.TrimLeft(strings.Join(kept, ";"), " "))
		}
	}
	rest = h.Clone()
	if len(lines) == 0 {
		delete(rest, "Cookie")
	} else {
		rest["Cookie"] = lines
	}
	if !isID(visitor) {
		visitor = "" // not one of ours
	}
	return rest, visitor, outcomes
}

// dropOwnCookies takes out of an answer what the application says about cookies of
// the gateway's own: it has never seen one.
func dropOwnCookies(h http.Header) {
	own := func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		name, _, _ = strings.Cut(name, ";")
		name = strings.Trim(name, " \t")
		return name == visitorCookie || name == outcomeCookie
	}
	if !slices.ContainsFunc(h["Set-Cookie"], own) {
		return
	}
	if h["Set-Cookie"] = slices.DeleteFunc(slices.Clone(h["Set-Cookie"]), own); len(h["Set-Cookie"]) == 0 {
		delete(h, "Set-Cookie")
	}
}

// newVisitor returns the value of a new visitor cookie.
func newVisitor() string {
	var b [visitorBytes]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// visitorLine is the Set-Cookie line of a visitor.
func visitorLine(visitor string, secure bool) string {
	return (&http.Cookie{ //nolint:gosec // Secure where the page is.
		Name: visitorCookie, Value: visitor, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure,
	}).String()
}

// outcomeLine is the Set-Cookie line that tells of outcomes.
func outcomeLine(outcomes []outcome, secure bool) string {
	words := make([]string, len(outcomes))
	for i, o := range outcomes {
		words[i] = o.id + ":" + o.word + ":" + strconv.Itoa(o.status)
	}
	return (&http.Cookie{ //nolint:gosec // no secret: scripts read it.
		Name: outcomeCookie, Value: strings.Join(words, "/"), Path: "/", MaxAge: outcomeSeconds,
		SameSite: http.SameSiteLaxMode, Secure: secure,
	}).String()
}

// outcome is what became of one form.
type outcome struct {
	id     string // of its token, in base64url
	word   string
	status int
}

// The words of an outcome. The first three say that there is nothing left to send.
const (
	wordExecuted = "executed"
	wordReplayed = "replayed"
	wordSeen     = "seen" // replayed, and the reader was told so
	wordInFlight = "in-flight"
	wordUnknown  = "unknown"
	wordRefused  = "refused"
)

// parseOutcomes reads the outcome cookie, which anybody may have written: what is
// none of ours is left out.
func parseOutcomes(value string) []outcome {
	var all []outcome
	for entry := range strings.SplitSeq(value, "/") {
		parts := strings.Split(entry, ":")
		if len(parts) != 3 || !isID(parts[0]) || len(all) == maxOutcomes {
			continue
		}
		status, err := strconv.Atoi(parts[2])
		if err != nil || status < 100 || status > 999 {
			continue
		}
		switch parts[1] {
		case wordExecuted, wordReplayed, wordSeen, wordInFlight, wordUnknown, wordRefused:
			all = append(all, outcome{parts[0], parts[1], status})
		}
	}
	return all
}

// addOutcome puts an outcome before the others; it replaces the one of the same
// form.
func addOutcome(all []outcome, o outcome) []outcome {
	others := slices.DeleteFunc(slices.Clone(all), func(other outcome) bool { return other.id == o.id })
	return append([]outcome{o}, others[:min(len(others), maxOutcomes-1)]...)
}

// isID reports whether s looks like 16 bytes in base64url.
func isID(s string) bool {
	if len(s) != idDigits {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}
