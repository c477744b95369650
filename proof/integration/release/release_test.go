package release_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/testserver"
)

// TestRelease makes a release: the commit that it tags is the one in which the nested modules require it.
func TestRelease(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		testserver.Missing(t, "npm", "apt-get install npm")
	}
	r := newRepository(t)
	r.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-11-27)\n\nThe first one.\n")
	r.commit()
	if out, err := r.run("scripts/release", "--dry-run", "v0.1.0"); err != nil || out != "v0.1.0\nadapters/nats/v0.1.0\n" || r.git("tag") != "" {
		t.Fatalf("of a dry run got error %v\n%s", err, out)
	}
	out, err := r.run("scripts/release", "v0.1.0")
	if err != nil || out != "git push --atomic origin HEAD adapters/nats/v0.1.0\ngit push origin v0.1.0\n" {
		t.Fatalf("got error %v\n%s", err, out)
	}
	head := r.git("rev-parse", "HEAD")
	for _, tag := range []string{"v0.1.0", "adapters/nats/v0.1.0"} {
		if at := r.git("rev-parse", tag); at != head {
			t.Errorf("%s is at %s, want %s", tag, at, head)
		}
	}
	for name, want := range map[string]string{
		"adapters/nats/go.mod":          "require github.com/semel-dev/semel v0.1.0\n",
		"go.work":                       "replace github.com/semel-dev/semel v0.1.0 => .\n",
		"web/package.json":              `"version":"0.1.0"`,
		"clients/python/pyproject.toml": `version = "0.1.0"`,
	} {
		if text := r.git("show", "HEAD:"+name); !strings.Contains(text, want) {
			t.Errorf("%s does not have %q:\n%s", name, want, text)
		}
	}
	if status := r.git("status", "--porcelain"); status != "" {
		t.Errorf("it left changes behind:\n%s", status)
	}
}

// TestReleaseRefuses changes nothing, because something is not as a release needs it.
func TestReleaseRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil   func(r *repository)
		version string
		says    string
	}{
		"not a version":     {func(*repository) {}, "0.1.0", "0.1.0 is not a version"},
		"a changed tree":    {func(r *repository) { r.write("semel.go", "package semel\n") }, "v0.1.0", "git status"},
		"no notes":          {func(*repository) {}, "v0.2.0", "has no section 0.2.0"},
		"a version of old":  {func(r *repository) { r.git("tag", "v0.1.0") }, "v0.1.0", "there is a tag v0.1.0"},
		"a part is out":     {func(r *repository) { r.git("tag", "adapters/nats/v0.1.0") }, "v0.1.0", "there is a tag adapters/nats/v0.1.0"},
		"without a version": {func(*repository) {}, "", "the version, such as v0.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			r.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-11-27)\n\nThe first one.\n")
			r.commit()
			test.spoil(r)
			before := r.git("log", "--format=%H %D") + r.git("status", "--porcelain")
			if out, err := r.run("scripts/release", strings.Fields(test.version)...); err == nil || !strings.Contains(out, test.says) {
				t.Errorf("got error %v, want one that says %q:\n%s", err, test.says, out)
			}
			if after := r.git("log", "--format=%H %D") + r.git("status", "--porcelain"); after != before {
				t.Errorf("it changed the repository:\n%s\nwas:\n%s", after, before)
			}
		})
	}
}
