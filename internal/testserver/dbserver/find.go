package dbserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// MissingError says that something is not installed, and how to get it.
type MissingError struct {
	What string
	Hint string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is missing (%s)", e.What, e.Hint)
}

// find returns the path of a program: from PATH, else from where Debian puts servers, which users do not have on it.
func find(program, hint string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return filepath.Abs(path)
	}
	for _, dir := range slices.Concat(postgresDirs(), []string{"/usr/sbin", "/usr/local/sbin"}) {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, nil
		}
	}
	return "", &MissingError{What: program, Hint: hint}
}

// Find returns the path of a program that is on PATH or where Debian puts servers.
func Find(program string) (string, error) {
	return find(program, "scripts/compatibility installs it")
}

// findPostgres returns the path of a program of PostgreSQL.
func findPostgres(program string) (string, error) {
	return findIn(EnvPostgresBin, program, postgresHint)
}

// findIn returns the path of a program: from the folder that the environment names and nowhere else, so that no two versions mix, or
// else from wherever find looks.
func findIn(env, program, hint string) (string, error) {
	dir := os.Getenv(env)
	if dir == "" {
		return find(program, hint)
	}
	path, err := exec.LookPath(filepath.Join(dir, program))
	if err != nil {
		return "", &MissingError{What: program + " in " + dir, Hint: "see " + env}
	}
	return filepath.Abs(path)
}

// postgresDirs are the folders of Debian's PostgreSQL versions, the newest first.
func postgresDirs() []string {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil
	}
	version := func(dir string) int {
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if err != nil {
			return 0
		}
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	return dirs
}
