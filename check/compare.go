package check

import (
	"bytes"
	"fmt"
)

// sameAnswer says in which way again is not the answer that first was; empty if
// it is. Dates, and what [Config.Ignore] names, do not count.
func (p *probe) sameAnswer(first, again reply) string {
	switch {
	case !first.answered() || !again.answered():
		return fmt.Sprintf("the first was %s, the repetition %s", first, again)
	case first.Status != again.Status:
		return fmt.Sprintf("the first was %s, the repetition %s", first, again)
	case first.Header.Get("Location") != again.Header.Get("Location"):
		return fmt.Sprintf("Location was %q, and then %q", first.Header.Get("Location"), again.Header.Get("Location"))
	case !bytes.Equal(first.Body, again.Body):
		return "the body is another one"
	}
	return ""
}
