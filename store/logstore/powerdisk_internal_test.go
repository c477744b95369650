package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"
)

var errPower = errors.New("the power is off")

// powerDisk is a directory in memory that loses power: what was not synced is then there, not there, or torn, block by
// block, in any order.
type powerDisk struct {
	mu      sync.Mutex // guards the fields below, and the files
	files   map[string]*powerFile
	durable map[string]*powerFile // by the names that a loss of power leaves
	renamed [][2]string           // since the last sync
	left    int                   // operations until the power goes; -1: it stays
	syncErr error                 // what every sync of a file returns
	short   bool                  // writes stop half-way
	room    int64                 // bytes of all files; 0: no bound
	lies    bool                  // syncs do nothing, and say that they did
}

// powerFile holds bytes as the system shows them, and as the disk has them.
type powerFile struct {
	d         *powerDisk
	now, disk []byte
	dirty     [][2]int64
}

func newPowerDisk() *powerDisk {
	return &powerDisk{files: map[string]*powerFile{}, durable: map[string]*powerFile{}, left: -1}
}

// step counts an operation that changes something; the one at which the power goes is lost, or half done.
func (d *powerDisk) step() error {
	if d.left == 0 {
		return errPower
	}
	if d.left > 0 {
		d.left--
	}
	return nil
}

func (d *powerDisk) names() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := make([]string, 0, len(d.files))
	for name := range d.files {
		names = append(names, name)
	}
	return names, nil
}

func (d *powerDisk) open(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[name]; f != nil {
		return f, nil
	}
	return nil, fs.ErrNotExist
}

func (d *powerDisk) create(name string) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &powerFile{d: d}
	if err := d.step(); err != nil {
		return f, err
	}
	d.files[name] = f
	return f, nil
}

func (d *powerDisk) rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	d.renamed = append(d.renamed, [2]string{from, to})
	return nil
}

func (d *powerDisk) remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	if d.files[name] == nil {
		return fs.ErrNotExist
	}
	delete(d.files, name)
	return nil
}

func (d *powerDisk) sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.step(); err != nil {
		return err
	}
	d.durable, d.renamed = maps.Clone(d.files), nil
	return nil
}

// cut is the disk after a loss of power.
func (d *powerDisk) cut(rng *rand.Rand) *powerDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newPowerDisk()
	names, kept := maps.Clone(d.durable), map[string]bool{}
	for _, r := range d.renamed { // a file that is renamed has one of the names
		if f := d.durable[r[0]]; f != nil && d.files[r[1]] == f {
			if kept[r[0]], kept[r[1]] = true, true; rng.IntN(2) == 0 {
				delete(names, r[0])
				names[r[1]] = f
			}
		}
	}
	for name, f := range d.files { // what was not synced may have arrived
		if names[name] != f && !kept[name] && rng.IntN(2) == 0 {
			names[name] = f
		}
	}
	for name := range d.durable {
		if d.files[name] == nil && !kept[name] && rng.IntN(2) == 0 {
			delete(names, name)
		}
	}
	for name, f := range names {
		b := f.torn(rng)
		after.files[name] = &powerFile{d: after, now: b, disk: bytes.Clone(b)}
	}
	after.durable = maps.Clone(after.files)
	return after
}

// torn returns the bytes of the file after a loss of power: of each block the old or the new bytes, a part of the new ones, or, where
// something was written, nonsense.
func (f *powerFile) torn(rng *rand.Rand) []byte {
	size := len(f.disk)
	if len(f.now) != size && rng.IntN(2) == 0 {
		size = len(f.now)
	}
	b := make([]byte, size)
	copy(b, f.disk)
	block := int64(512)
	if rng.IntN(2) == 0 {
		block = 4096
	}
	for _, span := range f.dirty {
		for at := span[0]; at < span[1]; {
			end := min(span[1], (at/block+1)*block, int64(size))
			if end <= at {
				break
			}
			switch rng.IntN(5) {
			case 0, 1:
				copy(b[at:end], f.now[at:end])
			case 2:
				copy(b[at:at+rng.Int64N(end-at+1)], f.now[at:end])
			case 3:
				copy(b[at:end], f.now[at:end])
				b[at+rng.Int64N(end-at)] ^= 1 << rng.IntN(8)
			}
			at = end
		}
	}
	return b
}

func (f *powerFile) ReadAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if at >= int64(len(f.now)) {
		return 0, io.EOF
	}
	n := copy(b, f.now[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *powerFile) WriteAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	err := f.d.step()
	if err == nil {
		err = f.d.fits(f, at+int64(len(b)))
	}
	if errors.Is(err, syscall.ENOSPC) {
		return 0, err
	}
	if f.d.short {
		b, err = b[:len(b)/2], io.ErrShortWrite
	}
	if end := at + int64(len(b)); end > int64(len(f.now)) {
		f.now = append(f.now, make([]byte, end-int64(len(f.now)))...)
	}
	copy(f.now[at:], b)
	f.dirty = append(f.dirty, [2]int64{at, at + int64(len(b))})
	return len(b), err
}

// fits refuses what makes the files larger than the disk.
func (d *powerDisk) fits(f *powerFile, end int64) error {
	if d.room == 0 || end <= int64(len(f.now)) {
		return nil
	}
	used := end - int64(len(f.now))
	for _, f := range d.files {
		used += int64(len(f.now))
	}
	if used > d.room {
		return fmt.Errorf("write: %w", syscall.ENOSPC)
	}
	return nil
}

func (f *powerFile) sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.d.step(); err != nil {
		return err
	}
	if f.d.syncErr != nil || f.d.lies {
		return f.d.syncErr
	}
	f.disk, f.dirty = bytes.Clone(f.now), nil
	return nil
}

func (f *powerFile) size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return int64(len(f.now)), nil
}

func (f *powerFile) Close() error { return nil }

var (
	_ disk = (*powerDisk)(nil)
	_ file = (*powerFile)(nil)
)
