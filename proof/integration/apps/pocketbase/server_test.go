package pocketbase_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/semel-dev/semel/proof/integration/apps"
)

const (
	program  = "github.com/pocketbase/pocketbase/examples/base" // what its releases are built from
	operator = "ada@example.test"
	user     = "emmy@example.test"
	password = "correct horse battery"
	rules    = "../../../../examples/rules/pocketbase.yaml"
)

// built is PocketBase, built once for all tests, and without the race detector:
// it is not ours to search.
var built struct {
	sync.Once

	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

func build(ctx context.Context) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "semel-pocketbase-"); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "pocketbase"), program)
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build PocketBase: %w\n%s", err, out)
	}
	return dir, nil
}

// server is a running PocketBase of one test, with a user and two collections:
// invoices and payments.
type server struct {
	tb       testing.TB
	dir      string
	address  string
	operator *apps.Person // at its own door
}

func start(tb testing.TB) *server {
	tb.Helper()
	built.Do(func() { built.dir, built.err = build(context.WithoutCancel(tb.Context())) })
	if built.err != nil {
		tb.Fatal(built.err)
	}
	path := filepath.Join(built.dir, "pocketbase")
	s := &server{tb: tb, dir: tb.TempDir()}
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + s.dir}
	upsert := exec.CommandContext(tb.Context(), path, "superuser", "upsert", operator, password, "--dir", s.dir)
	upsert.Dir, upsert.Env = s.dir, env
	if out, err := upsert.CombinedOutput(); err != nil {
		tb.Fatalf("superuser upsert: %v\n%s", err, out)
	}
	s.address = apps.Start(tb, apps.Command{Dir: s.dir, Env: env, Ready: "/api/health", Args: func(port string) []string {
		return []string{path, "serve", "--dev=false", "--http", "127.0.0.1:" + port, "--dir", s.dir}
	}})
	s.operator = logIn(tb, s.address, "_superusers", operator)
	s.furnish()
	return s
}

// furnish makes the user and the collections.
func (s *server) furnish() {
	s.tb.Helper()
	const anybody, members = "", "@request.auth.id != ''"
	for _, name := range []string{"invoices", "payments"} {
		s.must("/api/collections", map[string]any{
			"name": name, "type": "base", "listRule": anybody, "viewRule": anybody, "createRule": members,
			"fields": []map[string]any{
				{"name": "customer", "type": "text"},
				{"name": "amount", "type": "number"},
				{"name": "scan", "type": "file", "maxSelect": 1, "maxSize": 1 << 20},
				{"name": "created", "type": "autodate", "onCreate": true},
			},
		})
	}
	s.must("/api/collections/users/records", map[string]any{"email": user, "password": password, "passwordConfirm": password})
}

// must creates something as the operator.
func (s *server) must(path string, v any) {
	s.tb.Helper()
	if got := post(s.operator, path, v); got.Status != http.StatusOK {
		s.tb.Fatalf("%s: got %d, want 200: %s", path, got.Status, got.Body)
	}
}

// logIn returns a person with a token of PocketBase.
func logIn(tb testing.TB, address, collection, name string) *apps.Person {
	tb.Helper()
	person := apps.NewPerson(tb, address)
	answer := post(person, "/api/collections/"+collection+"/auth-with-password", map[string]any{"identity": name, "password": password})
	var got struct{ Token string }
	if err := json.Unmarshal(answer.Body, &got); err != nil || got.Token == "" {
		tb.Fatalf("log in: got %d %s, want a token", answer.Status, answer.Body)
	}
	person.Header.Set("Authorization", got.Token)
	return person
}

// post sends JSON.
func post(person *apps.Person, path string, v any, headers ...string) *apps.Answer {
	return person.Send(encoded(path, v, headers...))
}

// encoded is a POST of JSON, to be sent more than once.
func encoded(path string, v any, headers ...string) *apps.Submission {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // a literal of ours
	}
	return &apps.Submission{Method: http.MethodPost, Path: path, ContentType: "application/json", Body: body, Headers: headers}
}

// records are the ids of a collection, asked at its own door.
func (s *server) records(collection string) []string {
	s.tb.Helper()
	answer := s.operator.Get("/api/collections/" + collection + "/records?perPage=200&fields=id")
	var got struct{ Items []struct{ ID string } }
	if err := json.Unmarshal(answer.Body, &got); err != nil {
		s.tb.Fatalf("%v: %d %s", err, answer.Status, answer.Body)
	}
	ids := make([]string, 0, len(got.Items))
	for _, item := range got.Items {
		ids = append(ids, item.ID)
	}
	return ids
}

// files are the uploaded files, without what PocketBase notes about them.
func (s *server) files() []string {
	s.tb.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "storage", "*", "*", "*.txt"))
	if err != nil {
		s.tb.Fatal(err)
	}
	return files
}

// open starts a server, and returns a person who has logged in through the
// door, and its address.
func open(tb testing.TB, d apps.Door) (*server, *apps.Person, string) {
	tb.Helper()
	s := start(tb)
	address := s.address
	if d.Protected {
		address = apps.Protect(tb, address, rules)
	}
	return s, logIn(tb, address, "users", user), address
}
