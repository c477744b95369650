package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// ProgramOptions are the options of [StartProgram].
type ProgramOptions = dbserver.ProgramOptions

// Program is a server program, such as a reverse proxy, that belongs to one test.
type Program struct{ *life[*dbserver.Program] }

// StartProgram starts a program for this test.
func StartProgram(tb testing.TB, o *ProgramOptions) *Program {
	tb.Helper()
	s, err := servers(tb).Program(tb.Context(), o)
	return &Program{newLife(tb, s, err)}
}

// Reload gives the program its configuration again: with a signal such as "HUP", or with a command and its arguments, in which
// {dir} is the program's folder. What it does then may take it a moment.
func (p *Program) Reload(how ...string) {
	p.tb.Helper()
	if err := p.server.Reload(p.tb.Context(), how...); err != nil {
		p.tb.Error(err)
	}
}
