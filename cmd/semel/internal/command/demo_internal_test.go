package command

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/semel-dev/semel/demo/stage"
	"github.com/semel-dev/semel/internal/cli"
)

// TestPlayedExitCode: one duplicate behind the gateway is enough for exit 1.
func TestPlayedExitCode(t *testing.T) {
	t.Parallel()
	once, twice := stage.Tally{Invoices: 1, Emails: 1}, stage.Tally{Invoices: 2, Emails: 2}
	good := stage.Result{Scenario: "good", Unprotected: twice, Protected: once}
	for name, test := range map[string]struct {
		second stage.Tally
		code   int
		shows  string
	}{
		"all once":       {once, cli.ExitFine, "2 intents: 4 invoices and 4 e-mails unprotected, 2 and 2 behind the gateway."},
		"a duplicate":    {twice, cli.ExitFound, "3 and 3 behind"},
		"a second mail":  {stage.Tally{Invoices: 1, Emails: 2}, cli.ExitFound, "1 (2 e-mails)"},
		"nothing at all": {stage.Tally{}, cli.ExitFound, "1 and 1 behind"},
	} {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			err := printPlayed(&cli.Process{Stdout: &out}, []stage.Result{good, {Scenario: "second", Unprotected: twice, Protected: test.second}}, asJSON)
			code := cli.ExitFine
			if ended, ok := errors.AsType[*cli.ExitError](err); ok {
				code = ended.Code
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
