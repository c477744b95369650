package dbserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	natsHint  = "apt-get install nats-server"
	askWithin = 5 * time.Second // one question to a server that starts
)

// NATS is a NATS server with JetStream.
type NATS struct{ *process }

// NATS starts a NATS server with JetStream and without a password. Streams in files survive its end; conf is added to its
// configuration.
func (h *Home) NATS(ctx context.Context, conf string) (*NATS, error) {
	path, err := find("nats-server", natsHint)
	if err != nil {
		return nil, err
	}
	as, err := accountFor("nats")
	if err != nil {
		return nil, err
	}
	dir, err := h.room("nats", as)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("host: %s\njetstream { store_dir: %q }\n%s\n", host, dir, conf)
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), as.own(file)); err != nil {
		return nil, fmt.Errorf("configure NATS: %w", err)
	}
	s := &NATS{}
	s.process = &process{
		home: h, as: as, dir: dir, path: path, stopSignal: "TERM", endSignal: "KILL",
		args:  func(port int) []string { return []string{"-c", file, "-p", fmt.Sprint(port)} },
		ready: s.ready,
	}
	return s, s.launch(ctx)
}

// ready asks JetStream for an answer, in the protocol's own words.
func (s *NATS) ready(ctx context.Context) error {
	const ask = "CONNECT {\"verbose\":false}\r\nSUB semel.ready 1\r\nPUB $JS.API.INFO semel.ready 0\r\n\r\n"
	return converse(ctx, s.Addr(), ask, func(answer *bufio.Reader) error {
		for {
			line, err := answer.ReadString('\n')
			if err != nil || strings.HasPrefix(line, "MSG semel.ready ") {
				return err
			}
		}
	})
}

// converse sends a question to a server that may not be ready and reads the answer.
func converse(ctx context.Context, addr, ask string, read func(answer *bufio.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // nothing more is expected from it
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write([]byte(ask)); err != nil {
		return err
	}
	return read(bufio.NewReader(conn))
}
