package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
)

const (
	manifestName  = "manifest"
	manifestMagic = "semellst"
	manifestSlot  = 4096 // a copy
	manifestSum   = 40   // bytes before the sum of a copy
	manifestCopy  = manifestSum + 4
)

// manifest is the file that names the first and the last segment, so that a segment missing at an end is noticed.
// Two copies are written in turn, in place: a full disk cannot stop the removal of the oldest segment, and an
// interrupted write leaves the other copy.
//
//	0  "semellst"
//	8  version uint32
//	12 0
//	16 turn    uint64  one more than that of the other copy
//	24 first   uint64
//	32 last    uint64  0 before there is any
//	40 crc     uint32  CRC-32C of all before
//
// The disk always holds at least what the manifest names: a segment is made before it is named, and removed after it is
// named no more.
type manifest struct {
	f file

	mu          sync.Mutex // guards the fields below, and the order of writes
	turn        uint64
	first, last uint64
}

// createManifest makes the file.
func createManifest(d disk, first, last uint64) (*manifest, error) {
	m := &manifest{}
	err := createWhole(d, manifestName, func(f file) error {
		m.f = f
		if _, err := f.WriteAt(make([]byte, 2*manifestSlot), 0); err != nil {
			return err
		}
		return m.write(first, last)
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// openManifest reads the file.
func openManifest(d disk) (*manifest, error) {
	f, err := d.open(manifestName)
	if err != nil {
		return nil, err
	}
	m := &manifest{f: f}
	err = errDamaged
	for slot := range int64(2) {
		if copyErr := m.read(slot); copyErr == nil || !errors.Is(copyErr, errDamaged) {
			err = copyErr
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", manifestName, err), f.Close())
	}
	return m, nil
}

// read reads a copy, which counts if it is newer than the one before.
func (m *manifest) read(slot int64) error {
	var b [manifestCopy]byte
	if _, err := m.f.ReadAt(b[:], slot*manifestSlot); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	switch version := binary.LittleEndian.Uint32(b[8:]); {
	case string(b[:8]) != manifestMagic || crc32.Checksum(b[:manifestSum], castagnoli) != binary.LittleEndian.Uint32(b[manifestSum:]):
		return errDamaged
	case version > formatVersion:
		return fmt.Errorf("it has format %d, this program knows %d (upgrade it)", version, formatVersion)
	}
	if turn := binary.LittleEndian.Uint64(b[16:]); turn > m.turn {
		m.turn, m.first, m.last = turn, binary.LittleEndian.Uint64(b[24:]), binary.LittleEndian.Uint64(b[32:])
	}
	return nil
}

// write makes the next copy durable.
func (m *manifest) write(first, last uint64) error {
	b := append(make([]byte, 0, manifestCopy), manifestMagic...)
	b = binary.LittleEndian.AppendUint32(b, formatVersion)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, m.turn+1)
	b = binary.LittleEndian.AppendUint64(b, first)
	b = binary.LittleEndian.AppendUint64(b, last)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if _, err := m.f.WriteAt(b, int64(m.turn%2)*manifestSlot); err != nil {
		return fmt.Errorf("write %s: %w", manifestName, err)
	}
	if err := m.f.sync(); err != nil {
		return fmt.Errorf("write %s: %w", manifestName, err)
	}
	m.turn, m.first, m.last = m.turn+1, first, last
	return nil
}

// setFirst says that the segments before this one are being removed.
func (m *manifest) setFirst(number uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first == number {
		return nil
	}
	return m.write(number, m.last)
}

// setLast says that the segments up to this one are there.
func (m *manifest) setLast(number uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == number {
		return nil
	}
	return m.write(m.first, number)
}

// layout holds what is in the directory of a log.
type layout struct {
	listed  bool     // there is a manifest
	numbers []uint64 // of segments
	old     []uint64 // of segments that an earlier version named
	rest    []string // files that were never complete
}

func readLayout(d disk) (l layout, err error) {
	names, err := d.names()
	for _, name := range names {
		whole, unfinished := strings.CutSuffix(name, newSuffix)
		number, ok := segmentNumber(whole, segmentSuffix)
		older, old := segmentNumber(whole, oldSuffix)
		switch {
		case unfinished && (ok || old || whole == manifestName):
			l.rest = append(l.rest, name)
		case unfinished:
		case ok:
			l.numbers = append(l.numbers, number)
		case old:
			l.old = append(l.old, older)
		}
		l.listed = l.listed || name == manifestName
	}
	slices.Sort(l.numbers)
	slices.Sort(l.old)
	return l, err
}

// settle opens the manifest. It makes one for a new log, and for one that an earlier version wrote, whose segments it
// renames.
func (l *layout) settle(d disk) (m *manifest, err error) {
	switch {
	case l.listed:
		m, err = openManifest(d)
	case len(l.numbers) > 0:
		return nil, fmt.Errorf("the %s is %w: it is missing", manifestName, errDamaged)
	case len(l.old) > 0:
		m, err = createManifest(d, l.old[0], l.old[len(l.old)-1])
	default:
		m, err = createManifest(d, 1, 0)
	}
	if err != nil || len(l.old) == 0 {
		return m, err
	}
	for _, number := range l.old {
		if _, twice := slices.BinarySearch(l.numbers, number); twice || number < m.first || number > m.last {
			err = fmt.Errorf("%s is of another log (if an earlier version of Semel ran here since, move its files away: the names of this log end in %s)", oldName(number), segmentSuffix)
			return nil, errors.Join(err, m.f.Close())
		}
	}
	for _, number := range l.old {
		if err := d.rename(oldName(number), segmentName(number)); err != nil {
			return nil, errors.Join(err, m.f.Close())
		}
		l.numbers = append(l.numbers, number)
	}
	slices.Sort(l.numbers)
	l.old = nil
	if err := d.sync(); err != nil {
		return nil, errors.Join(err, m.f.Close())
	}
	return m, nil
}
