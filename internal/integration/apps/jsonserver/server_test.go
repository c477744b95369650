package jsonserver_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/semel-dev/semel/internal/integration/apps"
	"github.com/semel-dev/semel/internal/testserver"
)

const (
	rules = "../../../../examples/rules/json-server.yaml"
	cache = "../../../../.cache/json-server"
)

// installed is the folder of node_modules, filled once for all tests.
var installed = sync.OnceValues(install)

// errNoNode says that node or npm is not installed.
var errNoNode = errors.New("no Node")

// install has npm install what package-lock.json pins, unless it is in the
// cache from an earlier run.
func install() (dir string, err error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", errNoNode
		}
	}
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return "", err
	}
	all, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(all, fmt.Sprintf("%x", sha256.Sum256(lock))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(all, 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(all, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(fresh, name), text, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(context.Background(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = fresh
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, missing := os.Stat(dir); missing != nil { // else another process was quicker
			return "", err
		}
	}
	return dir, nil
}

// server is a running json-server of one test.
type server struct {
	tb      testing.TB
	address string
	own     *apps.Person // at its own door
}

func start(tb testing.TB) *server {
	tb.Helper()
	modules, err := installed()
	if errors.Is(err, errNoNode) {
		testserver.Missing(tb, "Node", "on Debian: apt-get install nodejs npm")
	}
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		tb.Fatal(err)
	}
	lists := []byte(`{"posts": [], "comments": [{"id": 1, "text": "first"}]}`)
	if err := os.WriteFile(filepath.Join(dir, "db.json"), lists, 0o600); err != nil {
		tb.Fatal(err)
	}
	s := &server{tb: tb}
	s.address = apps.Start(tb, apps.Command{
		Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, Ready: "/posts",
		Args: func(port string) []string {
			return []string{"node", filepath.Join(modules, "node_modules", "json-server", "lib", "cli", "bin.js"), "--host", "127.0.0.1", "--port", port, "db.json"}
		},
	})
	s.own = apps.NewPerson(tb, s.address)
	return s
}

// rows are the rows of a list, as json-server tells them at its own door. It
// writes them to its file later.
func (s *server) rows(list string) (rows []map[string]any) {
	s.tb.Helper()
	answer := s.own.Get("/" + list)
	if err := json.Unmarshal(answer.Body, &rows); err != nil {
		s.tb.Fatalf("%v: %d %s", err, answer.Status, answer.Body)
	}
	return rows
}

// open starts a server, and returns a person at the door.
func open(tb testing.TB, d apps.Door) (*server, *apps.Person) {
	tb.Helper()
	s, address := at(tb, d)
	return s, apps.NewPerson(tb, address)
}

// at starts a server, and returns the address of the door.
func at(tb testing.TB, d apps.Door) (s *server, address string) {
	tb.Helper()
	s = start(tb)
	if d.Protected {
		return s, apps.Protect(tb, s.address, rules)
	}
	return s, s.address
}
