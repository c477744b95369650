package check

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// volatile reports whether two values of one place look generated for every answer, so that they say nothing about the
// record. A value that names or measures the record never does: an id, an amount, a link, or the time at which it was
// made.
func (s spot) volatile(other spot) bool {
	words := nameWords(s.name)
	switch {
	case anyOf(words, "created", "inserted", "creation"):
		return false // the time at which the record was made is part of the record
	case s.bare || other.bare:
		return anyOf(words, "duration", "elapsed", "took", "latency", "timestamp") ||
			anyOf(words, "now", "time", "ts", "at", "epoch", "clock") && s.isRecent() && other.isRecent()
	case s.isTime() && other.isTime():
		return true
	case strings.Contains(s.value, "://") || strings.HasPrefix(s.value, "/"):
		return false
	case anyOf(words, "timestamp", "date", "time", "duration", "elapsed", "took", "latency"):
		return true // a time in an unknown format
	case anyOf(words, "trace", "traceid", "traceparent", "span", "spanid", "requestid", "correlation", "correlationid"),
		anyOf(words, "request", "req") && anyOf(words, "id", "uuid"):
		return true // the number of the attempt
	case anyOf(words, "server", "hostname", "node", "pod"):
		return true // the machine that answered
	case anyContains(words, "nonce", "csrf", "xsrf"), s.page && anyContains(words, "token", "verification"):
		return true // a CSRF token
	}
	return false
}

// timeText matches the beginning of a date or a time of the day.
var timeText = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2}([T ]|$)|\d{1,2}:\d{2}(:\d{2})?)`)

// isTime reports whether the value reads as a date or a time.
func (s spot) isTime() bool {
	if s.bare {
		return false
	}
	if timeText.MatchString(s.value) {
		return true
	}
	for _, layout := range []string{time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, time.UnixDate} {
		if _, err := time.Parse(layout, s.value); err == nil {
			return true
		}
	}
	return false
}

// isRecent reports whether a number counts the time since 1970 until about now, in seconds or smaller units.
func (s spot) isRecent() bool {
	n, err := strconv.ParseFloat(s.value, 64)
	if err != nil {
		return false
	}
	now := float64(time.Now().Unix())
	return slices.ContainsFunc([]float64{1, 1e3, 1e6, 1e9}, func(unit float64) bool { return math.Abs(n/unit-now) < 24*60*60 })
}

// nameWords splits a name into words, whether it is written request_id, requestId, request-id or RequestID.
func nameWords(name string) []string {
	var words []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	before := ' '
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && !unicode.IsUpper(before):
			flush()
			word.WriteRune(unicode.ToLower(r))
		default:
			word.WriteRune(unicode.ToLower(r))
		}
		before = r
	}
	flush()
	return words
}

func anyOf(words []string, wanted ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(wanted, word) })
}

func anyContains(words []string, parts ...string) bool {
	for _, word := range words {
		for _, part := range parts {
			if strings.Contains(word, part) {
				return true
			}
		}
	}
	return false
}
