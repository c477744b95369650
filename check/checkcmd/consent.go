package checkcmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/texts"
)

// maxAnswerBytes bounds the answer to a question.
const maxAnswerBytes = 1 << 10

// consent announces what will be sent, and asks for permission if one of the hosts is not this machine. The first host
// is that of the request.
func (f *checkOutput) consent(p *cli.Process, hosts []string, requests int) error {
	says := fmt.Sprintf("at most %s will be sent to %s, each of which may make a record", texts.Count(requests, "request"), hosts[0])
	if len(hosts) > 1 {
		says += ", and others to " + strings.Join(hosts[1:], ", ")
	}
	away := slices.DeleteFunc(slices.Clone(hosts), isThisMachine)
	if f.yes || len(away) == 0 {
		_, _ = fmt.Fprintf(p.Stderr, "semel: %s.\n", says)
		return nil
	}
	stdin, ok := p.Stdin.(*os.File)
	if !ok || !cli.IsTerminal(stdin) || !cli.IsTerminal(p.Stderr) {
		return cli.Usagef("%s, and %s is not this machine: allow it with --yes (or see what would be sent with --dry-run)", says, strings.Join(away, ", "))
	}
	return ask(p, says)
}

// ask accepts nothing but a yes.
func ask(p *cli.Process, says string) error {
	_, _ = fmt.Fprintf(p.Stderr, "semel: %s, and not all of these are this machine. Continue? [y/N] ", says)
	answer, err := bufio.NewReader(io.LimitReader(p.Stdin, maxAnswerBytes)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return cli.Usage(fmt.Errorf("read the answer: %w", err))
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return cli.Usagef("nothing was sent")
	}
	return nil
}
