package dbserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const compiler, compilerHint = "gcc", "apt-get install gcc libc6-dev"

// library compiles C into a library, in a folder of its own, that servers load before all others.
func (h *Home) library(ctx context.Context, name, source string) (string, error) {
	program, err := find(compiler, compilerHint)
	if err != nil {
		return "", err
	}
	dir, err := h.room(name, account{})
	if err != nil {
		return "", err
	}
	from, to := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(from, []byte(source), 0o600)); err != nil { //nolint:gosec // servers run as other users, and read it
		return "", fmt.Errorf("make the library %s: %w", name, err)
	}
	return to, run(account{}.command(ctx, dir, program, "-shared", "-fPIC", "-o", to, from))
}

func preload(library string) string { return "LD_PRELOAD=" + library }
