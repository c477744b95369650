package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// envRole and envFleet tell a process that it is a service of a fleet, and which.
const (
	envRole  = "SEMEL_SHOP_ROLE"
	envFleet = "SEMEL_SHOP_FLEET"
)

const (
	restartPause  = 100 * time.Millisecond
	startTimeout  = 30 * time.Second
	listenerFD    = 3 // the first of exec.Cmd's ExtraFiles
	clientTimeout = 3 * time.Second
)

// The processes. The provider is not the shop's: it is never killed.
const (
	roleBroker    = "broker"
	roleProvider  = "provider"
	roleOrders    = "orders"
	rolePayment   = "payment"
	roleLogistics = "logistics" // shipments and e-mails
)

// roles are all of them.
func roles() []string {
	return []string{roleBroker, roleProvider, roleOrders, rolePayment, roleLogistics}
}

// fleetConfig holds the settings that every process of a fleet gets.
type fleetConfig struct {
	Dir       string
	Protected bool
	OrdersDSN string // PostgreSQL for the orders; empty for SQLite
	Broker    string // host:port
	Addresses map[string]string
}

func (c *fleetConfig) faults() faults { return faults{dir: filepath.Join(c.Dir, "faults")} }

func (c *fleetConfig) file(role string) string { return filepath.Join(c.Dir, role+".db") }

func (c *fleetConfig) inboxFile(consumer string) string { return c.file(consumer + "-inbox") }

func (c *fleetConfig) url(role, path string) string { return "http://" + c.Addresses[role] + path }

// Options are the settings of [Start].
type Options struct {
	// Dir is an existing directory for the databases and the broker's files.
	Dir string
	// Temporary says that Close removes Dir.
	Temporary bool
	// Protected starts the services that use Semel, instead of the naive ones.
	Protected bool
	// OrdersDSN is a PostgreSQL database for the orders. Empty means a SQLite file in Dir.
	OrdersDSN string
	// Logger gets a line for every process that ends. Nil means silence.
	Logger *slog.Logger
	// Output gets what the processes print. Nil means nothing.
	Output io.Writer
}

// Fleet is the shop: a broker, the provider, and three services, each a process
// that is started again when it dies.
type Fleet struct {
	config    fleetConfig
	log       *slog.Logger
	output    io.Writer
	cancel    context.CancelFunc
	running   sync.WaitGroup
	listeners []*os.File
	client    *http.Client
	remove    bool

	mu        sync.Mutex
	processes map[string]*os.Process
	deaths    map[string]int
}

// Start starts a fleet of processes of this program, whose main function must
// begin with [Child], and returns when all of them answer.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	f := &Fleet{
		config: fleetConfig{Dir: o.Dir, Protected: o.Protected, OrdersDSN: o.OrdersDSN, Addresses: map[string]string{}},
		log:    o.Logger, output: o.Output, remove: o.Temporary, client: &http.Client{Timeout: clientTimeout},
		processes: map[string]*os.Process{}, deaths: map[string]int{},
	}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(f.config.faults().dir, 0o700); err != nil {
		return nil, err
	}
	if err := f.reserve(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.cancel = cancel
	for i, role := range roles() {
		f.running.Go(func() { f.keep(running, role, f.listeners[i]) })
	}
	if err := f.ready(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// reserve opens a listener for each role, which outlives the processes: what
// is sent to one that is being restarted waits. The broker opens its own.
func (f *Fleet) reserve(ctx context.Context) error {
	for _, role := range roles() {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		f.config.Addresses[role] = l.Addr().String()
		tcp, ok := l.(*net.TCPListener)
		if !ok {
			return fmt.Errorf("%T is not a TCP listener", l)
		}
		file, err := tcp.File()
		if err := errors.Join(err, l.Close()); err != nil {
			return err
		}
		f.listeners = append(f.listeners, file)
	}
	// The broker wants a port of its own choice, the same after a restart.
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	f.config.Broker = l.Addr().String()
	return l.Close()
}

// keep runs a process again and again until ctx ends.
func (f *Fleet) keep(ctx context.Context, role string, listener *os.File) {
	for {
		err := f.runOnce(ctx, role, listener)
		if ctx.Err() != nil {
			return
		}
		f.log.InfoContext(ctx, "a process ended", slog.String("role", role), slog.Any("error", err))
		f.mu.Lock()
		f.deaths[role]++
		f.mu.Unlock()
		if !pause(ctx, restartPause) {
			return
		}
	}
}

func (f *Fleet) runOnce(ctx context.Context, role string, listener *os.File) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	config, err := json.Marshal(&f.config)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program) //nolint:gosec // the program is this one
	cmd.Env = append(os.Environ(), envRole+"="+role, envFleet+"="+string(config))
	cmd.ExtraFiles = []*os.File{listener}
	cmd.Stdout, cmd.Stderr = f.output, f.output
	stdin, err := cmd.StdinPipe() // when this process dies, its end tells the child
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	f.mu.Lock()
	f.processes[role] = cmd.Process
	f.mu.Unlock()
	return errors.Join(cmd.Wait(), ignoreClosed(stdin.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// ready waits until every process answers.
func (f *Fleet) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for role := range f.config.Addresses {
		for !f.answers(ctx, role) {
			if !pause(ctx, restartPause) {
				return fmt.Errorf("%s does not answer within %s: start with -verbose to see why", role, startTimeout)
			}
		}
	}
	return nil
}

func (f *Fleet) answers(ctx context.Context, role string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.config.url(role, "/ready"), http.NoBody)
	if err != nil {
		return false
	}
	resp, err := f.client.Do(req)
	return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// Kill kills the process of a role as a power cut would. It is started again.
func (f *Fleet) Kill(role string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.processes[role]; p != nil {
		if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return nil // it is about to be started again
	}
	return fmt.Errorf("no process has the role %q", role)
}

// Deaths counts the processes that ended.
func (f *Fleet) Deaths() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, deaths := range f.deaths {
		n += deaths
	}
	return n
}

// Close ends all processes.
func (f *Fleet) Close() error {
	if f.cancel != nil {
		f.cancel()
	}
	f.running.Wait()
	f.client.CloseIdleConnections()
	var errs []error
	for _, l := range f.listeners {
		errs = append(errs, l.Close())
	}
	if f.remove {
		errs = append(errs, os.RemoveAll(f.config.Dir))
	}
	return errors.Join(errs...)
}
