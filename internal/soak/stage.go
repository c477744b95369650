package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// retention is short, so that expired records are removed all the time: what
	// is swept too slowly shows in the store's size.
	retention = 2 * time.Minute
	// endLimit bounds how long a gateway may take to drain.
	endLimit = time.Minute
	// readyPause is the time between two questions whether a gateway serves.
	readyPause = 50 * time.Millisecond
)

// rules take an answer of 500 for what it is from an application that may fail
// after its effect.
const rules = `version: 1
routes:
  - name: things
    match: {path: "/{rest...}"}
    scope: {constant: soak}
    on_5xx: unknown
    lease: 5s
    wait: 2s
`

// Servers and files that the gateways can keep records in.
const (
	postgres = "postgres"
	mysql    = "mysql"
	redis    = "redis"
	sqlite   = "sqlite"
	logged   = "log"
)

func stores() []string { return []string{postgres, mysql, redis, sqlite, logged} }

// server has what the database servers have in common.
type server interface {
	Kill() error
	Start(ctx context.Context) error
}

// stage holds the gateways, the application and the store.
type stage struct {
	app      *app
	gateways []*gateway
	server   server // nil for files
	files    string // the folder of the store
	dir      string // of what is written here
	keys     [2]string
}

// gateway is a process that a rotation of secrets restarts.
type gateway struct {
	listen, admin string
	start         func(ctx context.Context) *exec.Cmd
	cmd           *exec.Cmd
}

// build compiles semel, and starts the store, the application and the gateways.
func (st *stage) build(ctx context.Context, s *settings, home *dbserver.Home, log io.Writer) error {
	binary := filepath.Join(st.dir, "semel")
	_, _ = fmt.Fprintln(log, "building semel …")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/semel").CombinedOutput(); err != nil { //nolint:gosec // our own.
		return fmt.Errorf("build semel: %w\n%s", err, out)
	}
	dsn, err := st.open(ctx, s.store, home)
	if err != nil {
		return err
	}
	if st.app, err = newApp(ctx); err != nil {
		return err
	}
	if err := st.writeSecrets(0); err != nil {
		return err
	}
	rulesFile := filepath.Join(st.dir, "rules.yaml")
	if err := os.WriteFile(rulesFile, []byte(rules), 0o600); err != nil {
		return err
	}
	fronts := 2
	if s.store == logged {
		fronts = 1 // a log belongs to one process
	}
	for i := range fronts {
		g := &gateway{}
		free, err := dbserver.FreeAddresses(ctx, 2)
		if err != nil {
			return err
		}
		g.listen, g.admin = free[0], free[1]
		g.start = func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(context.WithoutCancel(ctx), binary, "gateway", "--upstream", "http://"+st.app.address, //nolint:gosec // our own binary.
				"--listen", g.listen, "--admin", g.admin, "--store", dsn, "--rules", rulesFile, "--retention", retention.String(),
				"--hide-keys", "--digest-secrets", st.file("digest"), "--outcome-keys", st.file("outcome"), "--log-format", "json")
			cmd.Dir = st.dir
			return cmd
		}
		st.gateways = append(st.gateways, g)
		if err := g.up(ctx, st.logFile(i)); err != nil {
			return err
		}
	}
	return nil
}

// open starts the store, and returns its DSN.
func (st *stage) open(ctx context.Context, store string, home *dbserver.Home) (dsn string, err error) {
	st.files = filepath.Join(st.dir, "store")
	if err := os.Mkdir(st.files, 0o700); err != nil {
		return "", err
	}
	switch store {
	case postgres:
		srv, err := home.Postgres(ctx, &dbserver.PostgresOptions{Fsync: true})
		if err != nil {
			return "", err
		}
		st.server, st.files = srv, srv.Dir()
		return "postgres://postgres@" + srv.Addr() + "/postgres?sslmode=disable", nil
	case mysql:
		srv, err := home.MySQL(ctx, &dbserver.MySQLOptions{Fsync: true})
		if err != nil {
			return "", err
		}
		st.server, st.files = srv, srv.Dir()
		//semel:safe a second run is refused: the database is there
		return "mysql://root@" + srv.Addr() + "/semel", srv.Exec(ctx, "CREATE DATABASE semel")
	case redis:
		srv, err := home.Redis(ctx, &dbserver.RedisOptions{AppendOnly: true})
		if err != nil {
			return "", err
		}
		st.server, st.files = srv, srv.Dir()
		return "redis://" + srv.Addr(), nil
	case logged:
		return "log:" + filepath.Join(st.files, "records"), nil
	}
	return "sqlite:" + filepath.Join(st.files, "semel.db"), nil
}

func (st *stage) fronts() (all []string) {
	for _, g := range st.gateways {
		all = append(all, g.listen)
	}
	return all
}

func (st *stage) close() {
	for _, g := range st.gateways {
		if g.cmd != nil && g.cmd.Process != nil {
			_ = g.cmd.Process.Kill() // its log and its store are removed
			_ = g.cmd.Wait()
		}
	}
	if st.app != nil {
		st.app.close()
	}
}

func (st *stage) logFile(gateway int) string {
	return filepath.Join(st.dir, fmt.Sprintf("gateway-%d.log", gateway))
}

// up starts the gateway and waits until it serves.
func (g *gateway) up(ctx context.Context, logFile string) error {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // in our folder; of its many lines only the last start's are kept.
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has it open.
	g.cmd = g.start(ctx)
	g.cmd.Stderr = log
	if err := g.cmd.Start(); err != nil {
		return fmt.Errorf("start a gateway: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	for {
		_, err := g.get(ctx, "/readyz")
		if err == nil {
			return nil
		}
		if !waiting.Sleep(ctx, readyPause) {
			text, _ := os.ReadFile(logFile) //nolint:gosec // written above.
			return fmt.Errorf("a gateway does not serve: %w\n%s", err, tail(string(text)))
		}
	}
}

// tail returns the last lines of a log.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
