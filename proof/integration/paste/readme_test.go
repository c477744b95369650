package paste_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const readme = "README.md"

// module returns an empty folder that is a Go module which uses this one.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(home, "go.mod"))
	must(t, err)
	own := strings.Replace(string(text), "module github.com/semel-dev/semel", "module example.com/paste", 1) +
		"\nrequire github.com/semel-dev/semel v0.0.0\nreplace github.com/semel-dev/semel => " + home + "\n"
	sums, err := os.ReadFile(filepath.Join(home, "go.sum"))
	must(t, err)
	write(t, dir, "go.mod", own)
	write(t, dir, "go.sum", string(sums))
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// The commands and the program of the page give the answers that their comments name, pasted one after the other into one shell.
func TestReadme(t *testing.T) {
	t.Parallel()
	const library = "In Go"
	lines := only(t, readme, "In front of an application that you cannot change", "sh")
	lines = append(lines, save(t, library, only(t, readme, library, "go")[0]))
	lines = append(lines, only(t, readme, library, "sh")...)
	records, _, _ := strings.Cut(only(t, readme, "Operating it", "sh")[0], "\n") // the others want a digest of the reader's own
	output, err := paste(t, home, lateApplication(t)+strings.Join(lines, "")+records+"\n")
	if err != nil {
		t.Errorf("the commands failed: %v", err)
	}
	inOrder(t, output,
		"HTTP/1.1 303", "Idempotency-Status: executed", "HTTP/1.1 303", "Idempotency-Status: replayed", "HTTP/1.1 422",
		"HTTP/1.1 200", "Idempotency-Status: executed", "HTTP/1.1 200", "Idempotency-Status: replayed", "HTTP/1.1 400",
		"completed", "completed")
}

// lateApplication returns a line that puts another go command in front: the application starts two seconds after the gateway, as on a
// machine where it compiles for longer. A page that waits for anything less than the application's answer shows 502.
func lateApplication(t *testing.T) string {
	t.Helper()
	compiler, err := exec.LookPath("go")
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "go"), []byte(`#!/bin/sh
case "$*" in *examples/invoices*) until curl -so /dev/null http://127.0.0.1:8080/; do sleep 0.1; done; sleep 2 ;; esac
exec `+compiler+` "$@"
`), 0o700))
	return "PATH=" + dir + ":$PATH\n"
}

// save returns a command that writes text to the file that the page names in front of it.
func save(t *testing.T, section, text string) string {
	t.Helper()
	_, before, _ := strings.Cut(readmeText(t), "## "+section+"\n")
	before, _, _ = strings.Cut(before, "```go\n")
	names := regexp.MustCompile("`([a-z]+)/main\\.go`").FindStringSubmatch(before)
	if names == nil {
		t.Fatalf("%s does not say where to save the program of section %q", readme, section)
	}
	return "mkdir " + names[1] + "\ncat >" + names[1] + "/main.go <<'END'\n" + text + "END\n"
}

// The command of semel check is one that semel understands.
func TestReadmeCheck(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(readmeText(t), "the same ([check.md]")
	_, rest, _ = strings.Cut(rest, "`semel check")
	check, _, found := strings.Cut(rest, "`")
	if !found {
		t.Fatal("README.md has no command of semel check")
	}
	output, err := paste(t, t.TempDir(), checkWith("semel check"+check, "--dry-run"))
	if err != nil {
		t.Errorf("the command failed: %v", err)
	}
	inOrder(t, output, "checks would send at most")
}

func readmeText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, readme))
	must(t, err)
	return string(text)
}

// The other pieces of Go compile where their names are declared.
func TestReadmeFragments(t *testing.T) {
	t.Parallel()
	const before = `package paste

import (
	"context"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/pgstore"
)

type Invoice struct{ Number string }

var _, _, _ = pgstore.Open, pgx.Connect, &http.Client{Transport: &semelhttp.Transport{}}

func fragment(ctx context.Context, guard *semel.Guard, key semel.Key, fingerprint semel.Fingerprint, body []byte, intentID string,
	createInvoice func(context.Context) (Invoice, error), insertInvoice func(context.Context, pgx.Tx, string) (Invoice, error), order string) {
	_, _, _, _, _, _, _, _ = guard, key, fingerprint, body, intentID, createInvoice, insertInvoice, order
	{
`
	dir := module(t)
	for i, text := range only(t, readme, "In Go", "go")[1:] {
		must(t, os.MkdirAll(filepath.Join(dir, strconv.Itoa(i)), 0o700))
		write(t, filepath.Join(dir, strconv.Itoa(i)), "piece.go", before+text+"\n_, _ = inv, err\n}\n}\n")
	}
	if output, err := paste(t, dir, "go build -mod=mod ./..."); err != nil {
		t.Errorf("a piece does not compile: %v\n%s", err, output)
	}
}
