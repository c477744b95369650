package testserver

import (
	"cmp"
	"os"
	"os/exec"
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// EnvChromium names the program, where it is not Debian's headless shell, which takes half of what the whole browser takes.
const EnvChromium = "SEMEL_TEST_CHROMIUM"

// Chromium returns the path of the browser. Where there is none the test fails or is skipped, as for a server.
func Chromium(tb testing.TB) string {
	tb.Helper()
	name := cmp.Or(os.Getenv(EnvChromium), "/usr/bin/chromium-headless-shell")
	path, err := exec.LookPath(name)
	if err != nil {
		skipOrFail(tb, &dbserver.MissingError{What: name, Hint: "apt-get install chromium-headless-shell"})
	}
	return path
}
