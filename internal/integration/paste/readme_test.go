package paste_test

import (
	"os"
	"path/filepath"
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

// The commands in front of an application give the answers that their comments
// name, and what comes after them in the page works on the same files.
func TestReadmeGateway(t *testing.T) {
	t.Parallel()
	commands := only(t, readme, "In front of an application that you cannot change", "sh")
	operating := only(t, readme, "Operating it", "sh")[0]
	lists, _, _ := strings.Cut(operating, "\n") // the others want a digest of the reader's own
	_, rest, _ := strings.Cut(readmeText(t), "the same ([check.md]")
	_, rest, _ = strings.Cut(rest, "`semel check")
	check, _, found := strings.Cut(rest, "`")
	if !found {
		t.Fatal("README.md has no command of semel check")
	}
	// The records go elsewhere: this tree may have some of its own.
	store := "export SEMEL_STORE=sqlite:" + filepath.Join(t.TempDir(), "semel.db") + "\n"
	output, err := paste(t, home, store+strings.Join(commands, "")+"\n"+lists+"\n"+checkWith("semel check"+check, "--dry-run"))
	if err != nil {
		t.Errorf("the commands failed: %v", err)
	}
	inOrder(t, output, "HTTP/1.1 303", "Idempotency-Status: executed", "HTTP/1.1 303", "Idempotency-Status: replayed", "HTTP/1.1 422",
		"completed", "checks would send at most")
}

func readmeText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, readme))
	must(t, err)
	return string(text)
}

// The program of the library runs in an empty folder, and answers as said.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	dir := module(t)
	write(t, dir, "main.go", only(t, readme, "In Go", "go")[0])
	commands := only(t, readme, "In Go", "sh")[0]
	output, err := paste(t, dir, "go run -mod=mod . &\nuntil curl -so /dev/null http://127.0.0.1:8081/; do sleep 0.1; done\n"+commands)
	if err != nil {
		t.Errorf("the commands failed: %v", err)
	}
	inOrder(t, output, "HTTP/1.1 200", "Idempotency-Status: executed", "HTTP/1.1 200", "Idempotency-Status: replayed", "HTTP/1.1 400")
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
