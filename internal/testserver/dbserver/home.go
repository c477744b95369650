package dbserver

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// Home is a folder in which servers live, and the keeper that ends them.
type Home struct {
	dir    string
	keeper *exec.Cmd
	pipe   io.Closer // the keeper acts when this is closed, by us or by our death

	building sync.Mutex // held while a program is built

	mu        sync.Mutex // guards the fields below
	processes []*process
	made      int // names the next server's folder
}

//go:embed keeper.sh
var keeperScript string

// EnvHome names the folder in which homes are made; without it, that of temporary files.
const EnvHome = "SEMEL_TEST_HOME"

// Open makes a home. [Home.Close] ends what lives in it.
func Open() (*Home, error) {
	if !supported {
		return nil, &MissingError{What: "a Unix system", Hint: "run the tests on one, or set the SEMEL_TEST_ variables"}
	}
	dir, err := os.MkdirTemp(os.Getenv(EnvHome), "semel-servers-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for servers: %w", err)
	}
	h := &Home{dir: dir}
	if err := h.keep(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the keeper of servers: %w", err), os.RemoveAll(dir)) //nolint:gosec // tests name their own folder.
	}
	return h, nil
}

// keep starts the keeper.
func (h *Home) keep() error {
	if err := os.Chmod(h.dir, 0o755); err != nil { //nolint:gosec // servers run as other users
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	h.keeper = exec.CommandContext(context.Background(), "/bin/sh", "-c", keeperScript, "keeper", h.dir) //nolint:gosec // our own folder
	h.keeper.Stdin = read
	h.keeper.Dir = "/"
	detach(h.keeper)
	h.pipe = write
	err = h.keeper.Start()
	return errors.Join(err, read.Close())
}

// Close ends every server at once, without an orderly shutdown, and removes their data.
func (h *Home) Close() error {
	h.mu.Lock()
	processes := h.processes
	h.processes = nil
	h.mu.Unlock()
	var errs []error
	for _, p := range processes {
		errs = append(errs, p.end())
	}
	errs = append(errs, h.pipe.Close(), h.keeper.Wait())
	return errors.Join(errs...)
}

// room makes the folder of a new server, which belongs to the user it runs as.
func (h *Home) room(kind string, as account) (string, error) {
	h.mu.Lock()
	h.made++
	dir := filepath.Join(h.dir, fmt.Sprintf("%s-%d", kind, h.made))
	h.mu.Unlock()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for a server: %w", err)
	}
	if err := as.own(dir); err != nil {
		return "", fmt.Errorf("give the folder of a server to its user: %w", err)
	}
	return dir, nil
}

func (h *Home) add(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.processes = append(h.processes, p)
}

func (h *Home) forget(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.processes = slices.DeleteFunc(h.processes, func(q *process) bool { return q == p })
}
