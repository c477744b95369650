package inbox

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/semel-dev/semel"
)

// fate says how the last attempt of an open message ended.
type fate uint8

const (
	open   fate = iota // it may have happened
	undone             // it failed and had no effect
	doomed             // the same, and the next one would fail as well
	kept               // it is in quarantine
)

// progress tells how far a message got. It is kept in the note of the message's record,
// which is unknown for the rest of the module: so no attempt runs without asking the inbox.
type progress struct {
	fate  fate
	begun int // attempts
	asked int // questions about the last one
	why   string
}

func fates() [4]string {
	return [...]string{open: "unknown", undone: "failed", doomed: "final", kept: "quarantined"}
}

// recordNote returns the text that the record keeps: "failed attempt=2 asked=0: connection refused".
func (p progress) recordNote() string {
	return fmt.Sprintf("%s attempt=%d asked=%d: %s", fates()[p.fate], p.begun, p.asked, p.why)
}

// progressOf reads the record of a message that is unknown or has lapsed.
func progressOf(rec *semel.Record) progress {
	head, why, ok := strings.Cut(rec.Note, ": ")
	for f, word := range fates() {
		p := progress{fate: fate(f), why: why}
		if n, err := fmt.Sscanf(head, word+" attempt=%d asked=%d", &p.begun, &p.asked); ok && err == nil && n == 2 {
			return p
		}
	}
	return progress{begun: rec.Attempt, why: cmp.Or(rec.Note, "its process died, or could not reach the store")} // at most so many were begun
}
