package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// proxies are rows of the page, by the names of their subtests.
func proxies() []target {
	return []target{
		proxy("nginx", "", "nginx", "-v"),
		proxy("HAProxy", "", "haproxy", "-v"),
		proxy("Apache", "", "apache2", "-v"),
		proxy("Caddy", "adapters/caddy", "go", "list", "-m", "github.com/caddyserver/caddy/v2"),
	}
}

func proxy(name, dir, program string, args ...string) target {
	tests := func(column, functions string) suite {
		return suite{column: column, packages: []string{"./proof/integration/proxies"}, run: "^Test(" + functions + ")$/^" + name + "$"}
	}
	return target{name: name, start: reports(dir, program, args...), suites: []suite{
		tests("semel check", "Check"),
		tests("answers that get lost", "Alone|SilenceIsResent|Front|Between|Unsent"),
		tests("the same over HTTP/2", "HTTP2"),
		tests("changed keys", "AlteredKeys"),
		tests("reload under load", "Reload"),
		tests("kill -9 under load", "Killed"),
	}}
}

// reports starts nothing: the tests do. It asks a program, run in a folder, for its version.
func reports(dir, program string, args ...string) func(context.Context, *dbserver.Home) (variable, value, version string, err error) {
	return func(ctx context.Context, _ *dbserver.Home) (variable, value, version string, err error) {
		path, err := dbserver.Find(program)
		if err != nil {
			return "", "", "", err
		}
		cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // one of ours
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		if err != nil {
			return "", "", "", fmt.Errorf("%s: %w: %s", cmd, err, text)
		}
		if version = regexp.MustCompile(`\d+(\.\d+)+`).FindString(string(text)); version == "" {
			return "", "", "", fmt.Errorf("%s does not report a version: %s", cmd, text)
		}
		return "", "", version, nil
	}
}
