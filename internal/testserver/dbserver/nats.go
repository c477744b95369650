package dbserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	natsHint  = "apt-get install nats-server"
	askWithin = 5 * time.Second // one question to a server that starts
	natsTool  = "github.com/nats-io/nats-server/v2"
)

// NATSOptions are the options of [Home.NATS]. Nil means all defaults.
type NATSOptions struct {
	// Module is the folder of a Go module with the server as a tool, which is built.
	// Default: the installed program.
	Module string
	// JetStream is added to the block of JetStream, such as "sync_interval: always".
	JetStream string
	// Conf is added to the configuration.
	Conf string
}

// NATS is a NATS server with JetStream.
type NATS struct{ *process }

// NATS starts a NATS server with JetStream and without a password. Streams in files survive its end.
func (h *Home) NATS(ctx context.Context, o *NATSOptions) (*NATS, error) {
	if o == nil {
		o = &NATSOptions{}
	}
	path, err := h.natsProgram(ctx, o.Module)
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
	text := fmt.Sprintf("host: %s\njetstream { store_dir: %q\n%s }\n%s\n", host, dir, o.JetStream, o.Conf)
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

// NATSCluster starts a cluster of servers, which keep streams in common.
func (h *Home) NATSCluster(ctx context.Context, nodes int, o *NATSOptions) ([]*NATS, error) {
	if o == nil {
		o = &NATSOptions{}
	}
	listen, err := FreeAddresses(ctx, nodes)
	if err != nil {
		return nil, err
	}
	routes := "nats://" + strings.Join(listen, ", nats://")
	all, errs := make([]*NATS, nodes), make([]error, nodes)
	var starting sync.WaitGroup
	for i := range all { // at once: none is ready before most of them are there
		node := *o
		node.Conf += fmt.Sprintf("\nserver_name: %s\ncluster { name: c, listen: %q, routes: [%s] }\n", NATSName(i), listen[i], routes)
		starting.Go(func() { all[i], errs[i] = h.NATS(ctx, &node) })
	}
	starting.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("make a NATS cluster: %w", err)
	}
	return all, nil
}

// NATSName is the name of a server of a cluster.
func NATSName(i int) string { return fmt.Sprint("n", i) }

// natsProgram is the path of the program: the installed one, or one that is built once for this home.
func (h *Home) natsProgram(ctx context.Context, module string) (string, error) {
	if module == "" {
		return find("nats-server", natsHint)
	}
	h.building.Lock()
	defer h.building.Unlock()
	path := filepath.Join(h.dir, "nats-server")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, run(exec.CommandContext(ctx, "go", "build", "-C", module, "-o", path, natsTool)) //nolint:gosec // tests name their own folder.
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
