package console

import (
	"regexp"
	"strconv"
)

// place names the step at which a flow is parked, from the note of its record.
type place struct {
	Step   string
	Digest string // of the record to settle; empty where the note was cut before it
	Why    string
}

// parkedNote matches the text of [flow.Parked], within the text of an undo as well. A record keeps the first bytes of it.
var parkedNote = regexp.MustCompile(`(?s)^flow [^:]{1,64} is parked at step ("(?:[^"\\]|\\.)*")(?:, record ([0-9a-f]{64})(?:: (.*))?)?`)

// parkedAt reads the note of a flow that waits for an operator. Of any other note, the place has no step.
func parkedAt(note string) place {
	found := parkedNote.FindStringSubmatch(note)
	if found == nil {
		return place{}
	}
	step, err := strconv.Unquote(found[1])
	if err != nil {
		return place{}
	}
	return place{step, found[2], found[3]}
}
