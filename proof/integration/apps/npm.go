package apps

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/semel-dev/semel/internal/testserver"
)

// errNoNode says that node or npm is not installed.
var errNoNode = errors.New("no Node")

// Modules returns what has npm install the packages that package-lock.json in the working directory pins, once for all tests, and
// returns the folder with node_modules in it. They stay in the folder cache for later runs.
func Modules(cache string) func(tb testing.TB) string {
	installed := sync.OnceValues(func() (string, error) { return installModules(cache) })
	return func(tb testing.TB) string {
		tb.Helper()
		dir, err := installed()
		if errors.Is(err, errNoNode) {
			testserver.Missing(tb, "Node", "on Debian: apt-get install nodejs npm")
		}
		if err != nil {
			tb.Fatal(err)
		}
		return dir
	}
}

func installModules(cache string) (dir string, err error) {
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
	if _, err := os.Stat(dir); err == nil { //nolint:gosec // in the cache
		return dir, nil
	}
	if err := os.MkdirAll(all, 0o755); err != nil { //nolint:gosec // a cache without secrets
		return "", err
	}
	fresh, err := os.MkdirTemp(all, "new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(name) //nolint:gosec // one of two names
		if err == nil {
			err = os.WriteFile(filepath.Join(fresh, name), text, 0o600) //nolint:gosec // in the cache
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
	if err := os.Rename(fresh, dir); err != nil { //nolint:gosec // in the cache
		if _, missing := os.Stat(dir); missing != nil { //nolint:gosec // in the cache; else another process was quicker
			return "", err
		}
	}
	return dir, nil
}
