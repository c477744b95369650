package release_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
)

// A user with an empty folder can require each module of this tree, once it is released, and install each command.
func TestReleaseInstalls(t *testing.T) {
	t.Parallel()
	if !claimtest.Long() {
		t.Skip("it compiles every command: SEMEL_LONG=1")
	}
	const own = "github.com/semel-dev/semel"
	root, err := filepath.Abs(home)
	must(t, err)
	tree, proxy, cache := &repository{t: t, dir: root, env: os.Environ()}, t.TempDir(), t.TempDir()
	tree.must("scripts/proxy", proxy)
	version := "@" + strings.TrimSpace(tree.must("scripts/modules", "version"))
	machine := strings.Fields(tree.must("go", "env", "GOMODCACHE", "GOPROXY"))
	user := func() *repository {
		u := &repository{t: t, dir: t.TempDir()}
		u.env = append(os.Environ(), "GOWORK=", "GOFLAGS=-trimpath -modcacherw", "GOBIN="+u.dir, "GOMODCACHE="+cache, "GONOSUMDB="+own,
			"GOPROXY=file://"+proxy+",file://"+machine[0]+"/cache/download,"+machine[1])
		u.must("go", "mod", "init", "example.com/user")
		return u
	}
	for module := range strings.FieldsSeq(tree.must("scripts/modules", "released")) {
		user().must("go", "get", own+module[1:]+"/..."+version)
	}
	u := user()
	u.must("go", "get", own+"/semelgrpc"+version)
	u.write("main.go", tree.read("proof/integration/release/testdata/program/main.go"))
	u.must("go", "run", ".")
	for _, command := range []string{"cmd/semel", "cmd/semel/otlp", "demo", "lint/cmd/semelvet", "adapters/envoy/semel-envoy"} {
		user().must("go", "install", own+"/"+command+version)
	}
}
