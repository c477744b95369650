package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// MaxBytes limits what is read of a source or of a file that it names, and the size of a body: 16 MiB.
const MaxBytes = 16 << 20

// readAll reads a whole source, without the byte order mark that some editors add.
func readAll(r io.Reader, what string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", what, err)
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("%s is larger than %d MiB: reduce it to the request", what, MaxBytes>>20)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

// readFile reads a regular file; a relative name begins at dir.
func readFile(dir, name string) ([]byte, error) {
	if name == "" {
		return nil, errors.New("a file's name is missing after @ or <")
	}
	if dir != "" && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the body: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: write the body into one", name)
	}
	f, err := os.Open(name) //nolint:gosec // the person who runs the check names the file.
	if err != nil {
		return nil, fmt.Errorf("read the body: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read.
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the body: %w", err)
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("%s is larger than %d MiB: use a smaller one", name, MaxBytes>>20)
	}
	return data, nil
}

// folder returns the folder of a source that is a file, and nothing for others.
func folder(r io.Reader) string {
	if file, ok := r.(interface{ Name() string }); ok {
		return filepath.Dir(file.Name())
	}
	return ""
}
