package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/semel-dev/semel/check"
)

// maxAnswerBytes bounds what is read of the answer to a question.
const maxAnswerBytes = 1 << 10

// consent says what will be sent, and asks whether it may where that is not this
// machine.
func (f *checkOutput) consent(p *process, target string, requests int) error {
	at, err := url.Parse(check.Values{"n": "1", "uuid": "x", "key": "x", "now": "x", "minted": "x"}.Fill(target))
	if err != nil {
		return usage(fmt.Errorf("the URL cannot be read: %w", err))
	}
	says := fmt.Sprintf("at most %s will be sent to %s, each of which may make a record", count(requests, "request"), plainLine(at.Host))
	if f.yes || isLoopback(at.Hostname()) {
		_, _ = fmt.Fprintf(p.stderr, "semel: %s.\n", says)
		return nil
	}
	stdin, ok := p.stdin.(*os.File)
	if !ok || !isTerminal(stdin) || !isTerminal(p.stderr) {
		return usagef("%s, and %s is not this machine: say --yes if that may be (or see what would be sent with --dry-run)", says, plainLine(at.Hostname()))
	}
	return ask(p, says)
}

// ask takes nothing but a yes for one.
func ask(p *process, says string) error {
	_, _ = fmt.Fprintf(p.stderr, "semel: %s, and that is not this machine. Go on? [y/N] ", says)
	answer, err := bufio.NewReader(io.LimitReader(p.stdin, maxAnswerBytes)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return usage(fmt.Errorf("read the answer: %w", err))
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return usagef("nothing was sent")
	}
	return nil
}

// isLoopback reports whether a host is certainly this machine (RFC 6761 §6.3
// for names).
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
