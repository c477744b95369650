package dbserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// ProgramOptions describe a server that this package knows nothing more about, such as a reverse proxy.
type ProgramOptions struct {
	// Program is its name or path, and Hint says how to install it.
	Program, Hint string
	// Account is the user that it runs as when this process is root and the user exists.
	Account string
	// Config returns its configuration, for a folder of its own and the port that it has to listen on.
	Config func(dir string, port int) string
	// Args are its arguments, with the file of the configuration.
	Args func(file string) []string
	// End is the signal that ends it at once, with its children: "TERM", "KILL" where it has none.
	End string
}

// Program is a server with a configuration in one file.
type Program struct {
	*process

	options *ProgramOptions
}

// Program starts a program and waits until it takes connections.
func (h *Home) Program(ctx context.Context, o *ProgramOptions) (*Program, error) {
	path, err := find(o.Program, o.Hint)
	if err != nil {
		return nil, err
	}
	as, err := accountFor(o.Account)
	if err != nil {
		return nil, err
	}
	dir, err := h.room(filepath.Base(path), as)
	if err != nil {
		return nil, err
	}
	s := &Program{options: o}
	s.process = &process{
		home: h, as: as, dir: dir, path: path, stopSignal: "TERM", endSignal: o.End,
		prepare: func(port int) error { return s.create(s.file(), []byte(o.Config(dir, port))...) },
		args:    func(int) []string { return o.Args(s.file()) },
		ready:   s.ready,
	}
	if err := s.create(s.logFile()); err != nil { // some open it again, by the name of their standard error
		return nil, err
	}
	return s, s.launch(ctx)
}

func (s *Program) file() string { return filepath.Join(s.dir, "configuration") }

// create writes a file that belongs to the program's account.
func (s *Program) create(path string, text ...byte) error {
	if err := errors.Join(os.WriteFile(path, text, 0o600), s.as.own(path)); err != nil {
		return fmt.Errorf("prepare %s: %w", filepath.Base(s.path), err)
	}
	return nil
}

// ready reports whether the program takes connections.
func (s *Program) ready(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	return conn.Close()
}

// Reload writes the configuration again and tells the program so: with a signal such as "HUP", or with a command of its own,
// whose arguments follow its name or path.
func (s *Program) Reload(ctx context.Context, how ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.create(s.file(), []byte(s.options.Config(s.dir, s.port))...); err != nil {
		return err
	}
	if len(how) == 1 {
		sendSignal(s.pid, how[0])
		return nil
	}
	args := make([]string, len(how)-1)
	for i, arg := range how[1:] {
		args[i] = strings.ReplaceAll(arg, "{dir}", s.dir)
	}
	return run(s.as.command(ctx, s.dir, how[0], args...))
}
