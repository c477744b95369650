package report

import (
	"fmt"
	"strings"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// commands limits the commands of one reproduction.
const commands = 8

// Reproduce writes what was sent as curl commands, in order. Equal consecutive ones are written once. Secrets are
// environment variables.
func Reproduce(one *check.Result) string {
	var b strings.Builder
	for written, rest := 0, one.Exchanges; len(rest) > 0; written++ {
		command := curl(&rest[0])
		same := 1
		for same < len(rest) && curl(&rest[same]) == command {
			same++
		}
		if written == commands {
			fmt.Fprintf(&b, "# … and %d more\n", len(rest)+one.LeftOut)
			return b.String()
		}
		b.WriteString("# " + labels(rest[:same]) + "\n" + command + "\n")
		rest = rest[same:]
	}
	return b.String()
}

func labels(same []check.Exchange) string {
	if len(same) == 1 {
		return oneLine(same[0].Label) + ": " + came(&same[0])
	}
	return fmt.Sprintf("%s … %s, %d times: %s … %s", oneLine(same[0].Label), oneLine(same[len(same)-1].Label), len(same),
		came(&same[0]), came(&same[len(same)-1]))
}

func came(e *check.Exchange) string {
	switch {
	case e.Error != "":
		return oneLine(e.Error)
	case e.Answer != nil:
		return fmt.Sprintf("answered %d", e.Answer.Status)
	}
	return "no answer"
}

func curl(e *check.Exchange) string {
	if e.Request == nil || e.Request.URL == nil {
		return "# it could not be written"
	}
	text := ""
	if kept := len(e.Request.Body); e.RequestBytes > kept {
		text = fmt.Sprintf("# the body had %d bytes; these are the first %d\n", e.RequestBytes, kept)
	}
	return text + wire.Curl(e.Request, &e.Manner)
}

// oneLine keeps text inside a comment.
func oneLine(text string) string { return visible(strings.Join(strings.Fields(text), " ")) }
