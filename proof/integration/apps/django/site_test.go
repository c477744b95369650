package django_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // reads what Django has stored

	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/proof/integration/apps"
)

const (
	python   = "/usr/bin/python3" // Debian's, which has Debian's packages
	user     = "ada"
	password = "correct horse"
	rules    = "../../../../examples/rules/django-admin.yaml"
)

// made is a site with its tables and its first user, made once by Django's own
// commands; tests copy it.
var made struct {
	sync.Once

	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if made.dir != "" {
		_ = os.RemoveAll(made.dir)
	}
	os.Exit(code)
}

// errNoDjango says that python3-django is not installed.
var errNoDjango = errors.New("no Django")

func makeSite(ctx context.Context) (dir string, err error) {
	if exec.CommandContext(ctx, python, "-c", "import django").Run() != nil {
		return "", errNoDjango
	}
	if dir, err = os.MkdirTemp("", "semel-django-"); err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS("testdata/site")); err != nil {
		return dir, err
	}
	for _, args := range [][]string{
		{"migrate", "--run-syncdb", "--verbosity", "0"},
		{"createsuperuser", "--noinput", "--username", user, "--email", "ada@example.test"},
	} {
		cmd := exec.CommandContext(ctx, python, append([]string{"manage.py"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(environment(), "DJANGO_SUPERUSER_PASSWORD="+password)
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("manage.py %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return dir, nil
}

func environment() []string {
	return []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1"}
}

// site is a running site of one test.
type site struct {
	tb      testing.TB
	dir     string
	address string
	db      *sql.DB
}

// start runs a site without invoices.
func start(tb testing.TB) *site {
	tb.Helper()
	made.Do(func() { made.dir, made.err = makeSite(context.WithoutCancel(tb.Context())) })
	if errors.Is(made.err, errNoDjango) {
		testserver.Missing(tb, "Django", "on Debian: apt-get install python3-django")
	}
	if made.err != nil {
		tb.Fatal(made.err)
	}
	s := &site{tb: tb, dir: tb.TempDir()}
	if err := os.CopyFS(s.dir, os.DirFS(made.dir)); err != nil {
		tb.Fatal(err)
	}
	s.address = apps.Start(tb, apps.Command{
		Dir: s.dir, Env: environment(), Ready: "/admin/login/",
		Args: func(port string) []string {
			return []string{python, "manage.py", "runserver", "--noreload", "127.0.0.1:" + port}
		},
	})
	var err error
	if s.db, err = sql.Open("sqlite", "file:"+filepath.Join(s.dir, "site.db")+"?mode=ro&_pragma=busy_timeout(60000)"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.db.Close() })
	return s
}

// count counts the rows of a table of Django's database.
func (s *site) count(table string) (rows int) {
	s.tb.Helper()
	if err := s.db.QueryRowContext(s.tb.Context(), "SELECT count(*) FROM "+table).Scan(&rows); err != nil {
		s.tb.Fatal(err)
	}
	return rows
}

// scans lists the uploaded files.
func (s *site) scans() []string {
	s.tb.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "media", "scans", "*"))
	if err != nil {
		s.tb.Fatal(err)
	}
	return files
}

// logIn returns a person who has logged in through the door at this address.
func logIn(tb testing.TB, address string) *apps.Person {
	tb.Helper()
	person := apps.NewPerson(tb, address)
	form := person.Open("/admin/login/?next=/admin/").Form("login-form")
	answer := person.Send(form.Set("username", user).Set("password", password).Press(""))
	if answer.Status != 302 || answer.Location() != "/admin/" {
		tb.Fatalf("log in: got %d %q, want 302 /admin/: %.2000s", answer.Status, answer.Location(), answer.Body)
	}
	return person
}

// open starts a site, and returns a person who has logged in through the door.
func open(tb testing.TB, d apps.Door) (*site, *apps.Person) {
	tb.Helper()
	s := start(tb)
	address := s.address
	if d.Protected {
		address = apps.Protect(tb, address, rules)
	}
	return s, logIn(tb, address)
}

// filled is the form for a new invoice, filled in.
func filled(person *apps.Person, customer string) *apps.Form {
	form := person.Open("/admin/shop/invoice/add/").Form("invoice_form")
	return form.Set("customer", customer).Set("amount", "12.50").Set("note", "two\r\nlines & more")
}
