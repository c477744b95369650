package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	testTimeout = "90s" // a mutant may hang
	maxOutput   = 8 << 10
)

// tree is a copy of the source tree.
type tree struct{ dir string }

// copyTree copies what git knows of the tree, and what it does not ignore.
func copyTree(ctx context.Context, to string) (*tree, error) {
	from, err := repository(ctx)
	if err != nil {
		return nil, err
	}
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = from
	names, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the tree: %w", err)
	}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(names, []byte{0}), []byte{0}) {
		if err := copyFile(filepath.Join(from, string(name)), filepath.Join(to, string(name))); err != nil {
			return nil, fmt.Errorf("copy the tree: %w", err)
		}
	}
	return &tree{dir: to}, nil
}

func repository(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("find the tree (mutate runs in a git work tree): %w", err)
	}
	return strings.TrimSpace(string(root)), nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	switch {
	case errors.Is(err, os.ErrNotExist): // deleted, and git has not been told
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return nil
	}
	text, err := os.ReadFile(from) //nolint:gosec // of the tree.
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm()) //nolint:gosec // into the copy.
}

// replace changes the one place in the file that has the text.
func (t *tree) replace(file, old, with string) (undo func() error, err error) {
	path := filepath.Join(t.dir, file)
	before, err := os.ReadFile(path) //nolint:gosec // of the copy.
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(before), old); n != 1 {
		return nil, fmt.Errorf("DRIFTED: the text is in %s %d times, want once; fix its row in proof/mutate:\n%s", file, n, old)
	}
	put := func(text []byte) error { return os.WriteFile(path, text, 0o600) } //nolint:gosec // into the copy.
	return func() error { return put(before) }, put(bytes.Replace(before, []byte(old), []byte(with), 1))
}

// build compiles the tests of a package, which may be in a nested module.
func (t *tree) build(ctx context.Context, pkg string) (binary string, err error) {
	binary = filepath.Join(t.dir, "mutated.test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", binary, ".") //nolint:gosec // our own command.
	cmd.Dir = filepath.Join(t.dir, pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("DOES NOT COMPILE: %w\n%s", err, cut(string(out)))
	}
	return binary, nil
}

// test runs one test, named as TestStore/renew/stale, of a package that was
// built.
func (t *tree) test(ctx context.Context, pkg, binary, name string) (output string, passed bool) {
	levels := strings.Split(name, "/")
	for i, level := range levels {
		levels[i] = "^" + regexp.QuoteMeta(level) + "$"
	}
	cmd := exec.CommandContext(ctx, binary, "-test.v", "-test.timeout", testTimeout, "-test.run", strings.Join(levels, "/")) //nolint:gosec // what was built.
	cmd.Dir = filepath.Join(t.dir, pkg)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// ran reports whether the test ran, and passed.
func ran(output, name string) bool { return strings.Contains(output, "--- PASS: "+name+" (") }

// failures returns the test and those of its parts that failed, the smallest first.
func failures(output, name string) []string {
	var found []string
	for _, match := range regexp.MustCompile(`(?m)^ *--- FAIL: (Test\S+) \(`).FindAllStringSubmatch(output, -1) {
		if match[1] == name || strings.HasPrefix(match[1], name+"/") {
			found = append(found, match[1])
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	return found
}

func cut(s string) string {
	if len(s) > maxOutput {
		return "…" + s[len(s)-maxOutput:]
	}
	return s
}
