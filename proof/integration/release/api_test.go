package release_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// apidiff builds the pinned apidiff, once, where make api has it.
var apidiff = sync.OnceValues(func() (string, error) {
	const program = ".cache/bin/apidiff"
	build := exec.Command("go", "build", "-C", filepath.Join(home, "tools/release"), "-o", "../../"+program, "golang.org/x/exp/cmd/apidiff")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build apidiff: %w: %s", err, out)
	}
	return filepath.Abs(filepath.Join(home, program))
})

// TestAPI changes what users of a released module can import, and asks scripts/api.
func TestAPI(t *testing.T) {
	t.Parallel()
	const (
		root, store, nested = "semel.go", "store/pgstore/store.go", "adapters/nats/nats.go"
		unreleased          = "# Changelog\n\n## Unreleased\n\n"
	)
	parameter := func(r *repository) {
		r.write(store, strings.Replace(r.read(store), "dsn string", "dsn string, n int", 1))
	}
	for name, test := range map[string]struct {
		change    func(r *repository)
		changelog string
		passes    bool
		says      []string
	}{
		"nothing":                       {func(*repository) {}, "", true, []string{"compared with v0.1.0"}},
		"a new name":                    {func(r *repository) { r.write(root, r.read(root)+"\n// More is new.\nfunc More() {}\n") }, "", true, []string{".: compatible: More: added"}},
		"a name is gone":                {func(r *repository) { r.write(root, "// Package semel is a test.\npackage semel\n") }, "", false, []string{".: incompatible: Do: removed", "in `semel`"}},
		"another parameter":             {parameter, "", false, []string{"incompatible: ./store/pgstore.Open: changed", "in `pgstore`"}},
		"a package is gone":             {func(r *repository) { r.git("rm", "--quiet", store) }, "", false, []string{"store/pgstore: removed", "in `pgstore`"}},
		"a nested module breaks":        {func(r *repository) { r.write(nested, strings.ReplaceAll(r.read(nested), "Consume()", "Take()")) }, "", false, []string{".: incompatible: ./adapters/nats.Consume: removed", "in `nats`"}},
		"an example changes":            {func(r *repository) { r.git("rm", "--quiet", "examples/shop/shop.go", "proof/walk/walk.go") }, "", true, nil},
		"an internal one changes":       {func(r *repository) { r.git("rm", "--quiet", "internal/must/must.go") }, "", true, nil},
		"announced":                     {parameter, unreleased + "- **A store**: a new one.\n- **Breaking**: a line, and a second one\n  says that `pgstore.Open` takes a number.\n", true, []string{"incompatible"}},
		"another package is announced":  {parameter, unreleased + "- **Breaking**: `mysqlstore.Open` takes a number.\n- `pgstore.Open` takes a number.\n", false, []string{"in `pgstore`"}},
		"announced in the next release": {parameter, unreleased + "## 0.2.0 (2026-12-24)\n\n- **Breaking**: `pgstore.Open` takes a number.\n\n## 0.1.0 (2026-11-27)\n\nThe first.\n", true, []string{"incompatible"}},
		"announced in a release":        {parameter, unreleased + "## 0.1.0 (2026-11-27)\n\n- **Breaking**: `pgstore.Open` takes a number.\n", false, []string{"in `pgstore`"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			for _, tag := range []string{"v0.1.0-rc.2", "v0.1.0", "adapters/nats/v0.1.0", "vendored"} {
				r.git("tag", tag)
			}
			test.change(r)
			if test.changelog != "" {
				r.write("CHANGELOG.md", test.changelog)
			}
			r.commit()
			r.api(test.passes, test.says...)
			if trees := r.git("worktree", "list"); strings.Count(trees, "\n") != 1 {
				t.Errorf("it left a work tree behind:\n%s", trees)
			}
		})
	}
}

// TestAPIBeforeAnyRelease has nothing to compare with, and says so; in CI it does not take a shallow clone for that.
func TestAPIBeforeAnyRelease(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.api(true, "nothing is released yet")
	r.git("tag", "v0.1.0")
	r.commit()
	shallow := &repository{t: t, dir: filepath.Join(t.TempDir(), "clone"), env: append(r.env, "CI=true")}
	r.git("clone", "--quiet", "--depth", "1", "file://"+r.dir, shallow.dir)
	shallow.api(false, "fetch-depth: 0")
}

// api runs scripts/api.
func (r *repository) api(passes bool, says ...string) {
	r.t.Helper()
	program, err := apidiff()
	must(r.t, err)
	r.env = append(r.env, "APIDIFF="+program)
	out, err := r.run("scripts/api")
	if (err == nil) != passes {
		r.t.Errorf("scripts/api: got error %v, want it to pass: %t", err, passes)
	}
	for _, want := range says {
		if !strings.Contains(out, want) {
			r.t.Errorf("it does not say %q", want)
		}
	}
	if r.t.Failed() {
		r.t.Log(out)
	}
}
