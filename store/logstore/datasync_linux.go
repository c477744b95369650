package logstore

import (
	"os"
	"syscall"
)

// datasync makes the contents of a file durable. Its size does not change, so its times need not be written.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
