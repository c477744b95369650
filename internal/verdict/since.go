package verdict

import (
	"strings"
	"time"
)

// sinceMark begins the part of a note that holds since when the outcome is unknown.
const sinceMark = " [since "

// WithSince returns the note of a reconciliation that could not tell, in this many bytes at most: what it found, and since
// when the outcome is unknown, by the store's clock.
func WithSince(found string, since time.Time, most int) string {
	mark := sinceMark + since.UTC().Format(time.RFC3339Nano) + "]"
	return strings.ToValidUTF8(found[:min(len(found), most-len(mark))], "") + mark
}

// Since splits a note of [WithSince]. Of any other note, ok is false.
func Since(note string) (found string, since time.Time, ok bool) {
	at := strings.LastIndex(note, sinceMark)
	if at < 0 {
		return note, time.Time{}, false
	}
	since, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(note[at+len(sinceMark):], "]"))
	if err != nil {
		return note, time.Time{}, false
	}
	return note[:at], since, true
}
