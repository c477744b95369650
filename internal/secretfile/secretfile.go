// Package secretfile reads files of secrets.
package secretfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// maxBytes bounds a file.
const maxBytes = 64 << 10

// Line is a line that is not empty. Its text is never in an error.
type Line struct {
	Number int // from 1
	Text   string
}

// Open opens a file for reading, and returns what is known of it. It refuses what is not a regular file: opening a pipe
// would wait for its writer.
func Open(name string) (*os.File, fs.FileInfo, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file (write the secrets into a file, and name that)", name)
	}
	file, err := os.Open(name) //nolint:gosec // the operator names the file.
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	return file, info, err
}

// Lines returns the secrets of a file, one per line. It refuses a file that others can
// read or change, and one without a secret.
func Lines(name string) ([]Line, error) {
	file, info, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read.
	if mode := info.Mode().Perm(); mode&0o027 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s: others can read or change this file (mode %04o), and so get the keys. Run: chmod 600 %s", name, mode, name)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxBytes:
		return nil, fmt.Errorf("%s is larger than %d KiB; it must have one key per line", name, maxBytes>>10)
	case bytes.HasPrefix(text, []byte("\ufeff")):
		return nil, errors.New(name + " begins with a byte order mark, which would count as part of the line; save it as UTF-8 without one")
	}
	var lines []Line
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line, "#") {
			return nil, fmt.Errorf("%s, line %d begins with #: comments are not supported, as every line counts; remove it", name, i+1)
		}
		if line != "" {
			lines = append(lines, Line{i + 1, line})
		}
	}
	if len(lines) == 0 {
		return nil, errors.New(name + " is empty; it must have one key per line")
	}
	return lines, nil
}
