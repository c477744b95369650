package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const source = `package store

import "database/sql"

func f(db *sql.DB) error {
	_, err := db.Exec("INSERT INTO note (ref, n) VALUES ('a', 1) ON CONFLICT DO NOTHING")
	return err
}
`

// A tool is semelvet in a module.
type tool struct {
	path, folder string
}

func newTool(t *testing.T) *tool {
	t.Helper()
	v := &tool{path: filepath.Join(t.TempDir(), "semelvet"), folder: t.TempDir()}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", v.path, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	v.write(t, "go.mod", "module example.com/m\n\ngo 1.26\n")
	v.write(t, "store/store.go", source)
	return v
}

func (v *tool) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(v.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// vet runs go vet, and returns its exit code and what it printed.
func (v *tool) vet(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"vet", "-vettool=" + v.path}, args...), "./...")...)
	cmd.Dir = v.folder
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// wants runs go vet, which has to find this rule, or nothing when the rule is empty.
func (v *tool) wants(t *testing.T, rule string, args ...string) {
	t.Helper()
	code, said := v.vet(t, args...)
	finding := regexp.MustCompile(`store.store\.go:6:\d+: .*\[` + rule + `\]`)
	if strings.Contains(said, "old") || rule == "" && (code != 0 || said != "") || rule != "" && (code != 1 || !finding.MatchString(said)) {
		t.Errorf("go vet %s, want %q: exit %d\n%s", strings.Join(args, " "), rule, code, said)
	}
}

// Flags are relative to the folder of go vet although it runs its tool in that of a package, and the configuration is found above
// it. A schema that changes changes what go vet says of a package that did not.
func TestVet(t *testing.T) {
	t.Parallel()
	v := newTool(t)
	flags := []string{"-dialect=sqlite", "-schema=db/note.sql"}
	v.write(t, "old/store.go", source)
	v.write(t, "semel-lint.yaml", "version: 1\nexclude: [old]\n")
	v.write(t, "db/note.sql", "CREATE TABLE note (ref text NOT NULL, n bigint);\n")
	v.wants(t, "no-unique-key", flags...)
	v.wants(t, "no-unique-key", flags...) // go vet does not forget a finding
	v.write(t, "db/note.sql", "CREATE TABLE note (ref text NOT NULL UNIQUE, n bigint);\n")
	v.wants(t, "", flags...)
}
