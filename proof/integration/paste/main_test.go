package paste_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/semel-dev/semel/internal/claimtest"
)

// scriptVariable makes the test binary run the shell script that it names, in a network and over a copy of this tree that no other
// process sees: the addresses of the documentation are free there, and files that the script writes into the tree vanish with it.
const (
	scriptVariable = "SEMEL_PASTE_SCRIPT"
	homeVariable   = "SEMEL_PASTE_HOME" // the tree
)

// home is the root of the module, and bin the folder with what was built of it: semel, and the application of the pages.
var home, bin string

func TestMain(m *testing.M) {
	if script := os.Getenv(scriptVariable); script != "" {
		fmt.Fprintln(os.Stderr, runScript(script))
		os.Exit(2)
	}
	os.Exit(run(m))
}

// runScript becomes the shell once the loopback interface is up and the tree is covered.
func runScript(script string) error {
	if err := raiseLoopback(); err != nil {
		return fmt.Errorf("raise the loopback interface: %w", err)
	}
	if err := coverTree(os.Getenv(homeVariable), filepath.Join(filepath.Dir(script), "layer")); err != nil {
		return fmt.Errorf("cover the tree: %w", err)
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		return err
	}
	return syscall.Exec(shell, []string{"bash", "-euo", "pipefail", script}, os.Environ())
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, loopback)
}

// coverTree mounts a layer in memory over the tree, for this process alone. The layer lies next to the script.
func coverTree(home, layer string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	upper, work := filepath.Join(layer, "upper"), filepath.Join(layer, "work")
	if err := errors.Join(os.Mkdir(layer, 0o700), unix.Mount("tmpfs", layer, "tmpfs", 0, ""), os.Mkdir(upper, 0o700), os.Mkdir(work, 0o700)); err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := unix.Mount("overlay", home, "overlay", 0, "lowerdir="+home+",upperdir="+upper+",workdir="+work); err != nil {
		return err
	}
	return os.Chdir(here) // the folder may be one that is covered now
}

func run(m *testing.M) int {
	var err error
	if home, err = filepath.Abs("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if bin, err = os.MkdirTemp("", "semel-paste-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(bin) }()
	build := exec.CommandContext(context.Background(), "go", "build", "-o", bin, "./cmd/semel", "./examples/invoices/cmd/...", "./examples/drills/cmd/consumer")
	build.Dir = home
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build semel and the application: %v\n%s", err, text)
		return 1
	}
	return m.Run()
}

var must = claimtest.NoError
