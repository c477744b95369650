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

// File is a [check.Counter] that counts lines. [Lines] makes it; it is safe for concurrent use.
type File struct {
	path, text string
	perIntent  bool

	mu   sync.Mutex  // guards the field below
	last os.FileInfo // of the latest count; nil before the first
}

var _ check.Counter = (*File)(nil)

// Lines counts the lines of a file, such as a log or JSON lines, that contain the text, which may be empty and may have
// places ([check.Template]). The file has to exist from the beginning and may only grow: once it was rotated or
// truncated, every count is an error. At most 1 GiB is read, in lines of at most 1 MiB.
func Lines(path, text string) (*File, error) {
	if path == "" {
		return nil, errors.New("the name of the file is missing")
	}
	perIntent, err := ofIntent(text)
	if err != nil {
		return nil, err
	}
	return &File{path: path, text: text, perIntent: perIntent}, nil
}

// Name implements [check.Counter].
func (f *File) Name() string {
	if f.text == "" {
		return "lines of " + f.path
	}
	return fmt.Sprintf("lines of %s with %s", f.path, shown(f.text))
}

// PerIntent implements [check.Counter].
func (f *File) PerIntent() bool { return f.perIntent }

// Count implements [check.Counter].
func (f *File) Count(ctx context.Context, fill func(string) string) (int64, error) {
	text, err := filled(fill, f.text)
	if err != nil {
		return 0, err
	}
	file, err := os.Open(f.path)
	if err != nil {
		return 0, fmt.Errorf("open the file (create it before the run if the service creates it at the first effect): %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	if err := f.grown(file); err != nil {
		return 0, err
	}
	var n int64
	lines := bufio.NewScanner(io.LimitReader(file, maxFileBytes))
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
func (f *File) grown(file *os.File) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := file.Stat()
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
