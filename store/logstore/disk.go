package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// disk is the directory of a store. Tests replace it by one that loses power.
type disk interface {
	// names returns the names of all files.
	names() ([]string, error)
	// open opens a file that exists.
	open(name string) (file, error)
	// create makes a file; one of that name is replaced.
	create(name string) (file, error)
	rename(from, to string) error
	remove(name string) error
	// sync makes durable which names exist.
	sync() error
}

type file interface {
	ReadAt(b []byte, at int64) (int, error)
	WriteAt(b []byte, at int64) (int, error)
	// sync makes durable what was written.
	sync() error
	size() (int64, error)
	Close() error
}

// folder is a disk on disk.
type folder string

const (
	folderMode = 0o700
	fileMode   = 0o600
	looseMode  = 0o022 // of a directory in which others can replace files
)

// openFolder makes the directory if it has to.
func openFolder(path string) (folder, error) {
	if path == "" {
		return "", errors.New("logstore: the directory has no name")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return "", fmt.Errorf("logstore: %s is not a directory (a log is a directory of its own)", path)
	case err == nil && info.Mode().Perm()&looseMode != 0 && runtime.GOOS != "windows":
		return "", fmt.Errorf("logstore: others can change the files in %s, its mode is %04o (run: chmod 700 %s, or name a directory in it, which is made)",
			path, info.Mode().Perm(), path)
	case err == nil:
		return folder(path), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("logstore: %w (check the owner and the mode of the directories above it)", err)
	}
	if err := os.Mkdir(path, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("logstore: %w (create the directory above it, writable for this user)", err)
	}
	return folder(path), syncFolder(filepath.Dir(path))
}

func (d folder) names() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (d folder) open(name string) (file, error) {
	f, err := os.OpenFile(filepath.Join(string(d), name), os.O_RDWR|noFollow, 0) //nolint:gosec // the operator's directory.
	return osFile{f}, err
}

func (d folder) create(name string) (file, error) {
	f, err := os.OpenFile(filepath.Join(string(d), name), os.O_RDWR|os.O_CREATE|os.O_TRUNC|noFollow, fileMode) //nolint:gosec // the operator's directory.
	return osFile{f}, err
}

func (d folder) rename(from, to string) error {
	return os.Rename(filepath.Join(string(d), from), filepath.Join(string(d), to))
}

func (d folder) remove(name string) error { return os.Remove(filepath.Join(string(d), name)) }

func (d folder) sync() error { return syncFolder(string(d)) }

func syncFolder(path string) error {
	f, err := os.Open(path) //nolint:gosec // the operator's directory.
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

type osFile struct{ *os.File }

func (f osFile) sync() error { return datasync(f.File) }

func (f osFile) size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
