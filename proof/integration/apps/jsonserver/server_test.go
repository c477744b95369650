package jsonserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/proof/integration/apps"
)

const (
	rules = "../../../../examples/rules/json-server.yaml"
	cache = "../../../../.cache/json-server"
)

// modules is the folder with json-server in it.
var modules = apps.Modules(cache)

// server is a running json-server of one test.
type server struct {
	tb      testing.TB
	address string
	own     *apps.Person // at its own door
}

func start(tb testing.TB) *server {
	tb.Helper()
	installed, dir := modules(tb), tb.TempDir()
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
			return []string{"node", filepath.Join(installed, "node_modules", "json-server", "lib", "cli", "bin.js"), "--host", "127.0.0.1", "--port", port, "db.json"}
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
