package effects

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/semel-dev/semel/check"
)

// The bounds of a file whose lines are counted.
const (
	maxFileBytes = 1 << 30
	maxLineBytes = 1 << 20
)

// file is a file whose lines are counted.
type file struct {
	path, text string

	mu   sync.Mutex  // guards the field below
	last os.FileInfo // of the latest count; nil before the first
}

// Lines counts the lines of a file, such as a log or JSON lines, that contain the text, which may be empty and may have
// places ([check.Template]). The file has to exist from the beginning and may only grow: once it was rotated or
// truncated, every count is an error. At most 1 GiB is read, in lines of at most 1 MiB.
func Lines(path, text string) (check.Counter, error) {
	if path == "" {
		return nil, errors.New("the name of the file is missing")
	}
	perIntent, err := ofIntent(text)
	if err != nil {
		return nil, err
	}
	name := "lines of " + path
	if text != "" {
		name += " with " + shown(text)
	}
	return &counter{name, perIntent, (&file{path: path, text: text}).count}, nil
}

func (f *file) count(ctx context.Context, fill func(string) string) (int64, error) {
	text, err := filled(fill, f.text)
	if err != nil {
		return 0, err
	}
	in, err := os.Open(f.path)
	if err != nil {
		return 0, fmt.Errorf("open the file (create it before the run if the service creates it at the first effect): %w", err)
	}
	defer func() { _ = in.Close() }() // it was only read
	if err := f.grown(in); err != nil {
		return 0, err
	}
	var n int64
	lines := bufio.NewScanner(io.LimitReader(in, maxFileBytes))
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte(text)) {
			n++
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("count lines of at most %d bytes: %w", maxLineBytes, err)
	}
	return n, nil
}

// grown rejects a file that is not a longer version of the one before.
func (f *file) grown(in *os.File) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := in.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("examine the file: %w", err)
	case !now.Mode().IsRegular():
		return errors.New("the file cannot be read repeatedly: give a regular file")
	case now.Size() > maxFileBytes:
		return fmt.Errorf("the file is longer than %d bytes: begin a new one before the run", maxFileBytes)
	case f.last != nil && !os.SameFile(f.last, now):
		return errors.New("the file was replaced during the run: do not rotate it meanwhile")
	case f.last != nil && now.Size() < f.last.Size():
		return errors.New("the file became shorter during the run: do not truncate it meanwhile")
	}
	f.last = now
	return nil
}
