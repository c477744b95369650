package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/demo"
)

// TestPlayedExitCode: one duplicate behind the gateway is enough for exit 1.
func TestPlayedExitCode(t *testing.T) {
	t.Parallel()
	once, twice := demo.Tally{Invoices: 1, Emails: 1}, demo.Tally{Invoices: 2, Emails: 2}
	good := demo.Result{Scenario: "good", Unprotected: twice, Protected: once}
	for name, test := range map[string]struct {
		second demo.Tally
		code   int
		shows  string
	}{
		"all once":       {once, exitFine, "2 intents: 4 invoices and 4 e-mails unprotected, 2 and 2 behind the gateway."},
		"a duplicate":    {twice, exitFound, "3 and 3 behind"},
		"a second mail":  {demo.Tally{Invoices: 1, Emails: 2}, exitFound, "1 (2 e-mails)"},
		"nothing at all": {demo.Tally{}, exitFound, "1 and 1 behind"},
	} {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			err := printPlayed(&process{stdout: &out}, []demo.Result{good, {Scenario: "second", Unprotected: twice, Protected: test.second}}, asJSON)
			code := exitFine
			if ended, ok := errors.AsType[*exitError](err); ok {
				code = ended.code
			}
			if code != test.code {
				t.Errorf("%s (JSON %v): got exit code %d, want %d", name, asJSON, code, test.code)
			}
			if !asJSON && !strings.Contains(out.String(), test.shows) {
				t.Errorf("%s: the table does not say %q:\n%s", name, test.shows, out.String())
			}
		}
	}
}
