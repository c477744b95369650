package dbserver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
)

// account is the user a server runs as. The zero account is the user of this process.
type account struct {
	uid, gid uint32
	other    bool
}

const fallback = "nobody" // the account that every Unix has

// accountFor returns the first of these users that exists when this process is root: most servers refuse to run as root.
func accountFor(names ...string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range append(names, fallback) {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return account{}, fmt.Errorf("user %s: %w", name, err)
		}
		return account{uid: uint32(uid), gid: uint32(gid), other: true}, nil
	}
	return account{}, &MissingError{What: "a user to run servers as", Hint: "run the tests as an ordinary user, or add the user " + fallback}
}

// own gives a file to the account.
func (a account) own(path string) error {
	if !a.other {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// command prepares a program that runs as the account, at home in dir, and with an environment of its own: what a
// developer has in theirs does not change how a server behaves.
func (a account) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // found by find
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C"}
	a.become(cmd)
	return cmd
}
