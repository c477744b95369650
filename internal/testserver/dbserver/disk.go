package dbserver

import (
	"context"
	"os"
	"path/filepath"
)

// Disk holds up the syncs of a server, from [Disk.Hold] to [Disk.Release]: what the server writes meanwhile is with the
// operating system and not on the disk.
type Disk struct{ library, held string }

// diskSource is in the place of the C library's two functions.
const diskSource = `
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int held(int call, int fd) {
	while (access(getenv("SEMEL_TEST_HELD"), F_OK) == 0)
		usleep(5000);
	return syscall(call, fd);
}

int fdatasync(int fd) { return held(SYS_fdatasync, fd); }
int fsync(int fd) { return held(SYS_fsync, fd); }
`

// Disk makes a disk that syncs.
func (h *Home) Disk(ctx context.Context) (*Disk, error) {
	library, err := h.library(ctx, "disk", diskSource)
	if err != nil {
		return nil, err
	}
	return &Disk{library: library, held: filepath.Join(filepath.Dir(library), "held")}, nil
}

// Hold makes syncs wait.
func (d *Disk) Hold() error { return os.WriteFile(d.held, nil, 0o600) }

// Release lets them go on.
func (d *Disk) Release() error { return os.Remove(d.held) }

// environment returns the variables that make a server use the disk; nothing for nil.
func (d *Disk) environment() []string {
	if d == nil {
		return nil
	}
	return []string{preload(d.library), "SEMEL_TEST_HELD=" + d.held}
}
