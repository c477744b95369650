package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
)

// home is the root of this repository.
const home = "../../.."

// repository is a module with a nested one, under git, with the scripts of this repository.
type repository struct {
	t   *testing.T
	dir string
	env []string
}

// newRepository returns a repository of one commit.
func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t: t, dir: t.TempDir()}
	r.env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GOWORK=", "CI=",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com")
	for _, script := range []string{"api", "modules", "release", "workspace"} {
		text, err := os.ReadFile(filepath.Join(home, "scripts", script))
		must(t, err)
		r.write("scripts/"+script, string(text))
	}
	r.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n- **Nothing** breaks.\n")
	r.write("go.mod", "module github.com/semel-dev/semel\n\ngo 1.26.0\n")
	r.write("semel.go", "// Package semel is a test.\npackage semel\n\n// Do does it.\nfunc Do() {}\n")
	r.write("store/pgstore/store.go", "// Package pgstore is a test.\npackage pgstore\n\n// Open opens it.\nfunc Open(dsn string) {}\n")
	r.write("examples/shop/shop.go", "// Package shop is a test.\npackage shop\n\n// Buy buys.\nfunc Buy() {}\n")
	r.write("proof/walk/walk.go", "// Package walk is a test.\npackage walk\n\n// Walk walks.\nfunc Walk() {}\n")
	r.write("internal/must/must.go", "// Package must is a test.\npackage must\n\n// Get gets.\nfunc Get() {}\n")
	r.write("adapters/nats/go.mod", "module github.com/semel-dev/semel/adapters/nats\n\ngo 1.26.0\n\n"+
		"require github.com/semel-dev/semel v0.0.1\n")
	r.write("go.work", "go 1.26.0\n\nuse (\n\t.\n\t./adapters/nats\n)\n\nreplace github.com/semel-dev/semel v0.0.1 => .\n")
	r.write("adapters/nats/nats.go", "// Package nats is a test.\npackage nats\n\nimport _ \"github.com/semel-dev/semel\"\n\n// Consume consumes.\nfunc Consume() {}\n")
	r.write("web/package.json", `{"name":"semel","version":"0.0.0"}`)
	r.write("clients/python/pyproject.toml", "[project]\nname = \"semel\"\nversion = \"0.0.0\"\n")
	r.git("init", "--quiet", "--initial-branch", "main")
	r.commit()
	return r
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	must(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(r.t, os.WriteFile(path, []byte(text), 0o755))
}

func (r *repository) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(name)))
	must(r.t, err)
	return string(text)
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	return r.must("git", args...)
}

func (r *repository) commit() {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", "a test")
}

// run runs a program in the repository, and returns all that it wrote.
func (r *repository) run(program string, args ...string) (string, error) {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), program, args...)
	if strings.HasPrefix(program, "scripts/") {
		command.Path = filepath.Join(r.dir, program)
	}
	command.Dir, command.Env = r.dir, r.env
	out, err := command.CombinedOutput()
	return string(out), err
}

// must runs a program that succeeds.
func (r *repository) must(program string, args ...string) string {
	r.t.Helper()
	out, err := r.run(program, args...)
	if err != nil {
		r.t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return out
}

var must = claimtest.NoError
