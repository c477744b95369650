package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
)

const (
	segmentHeader = 4096
	segmentSuffix = ".semel"
	oldSuffix     = ".log" // of segments of the first versions, which had no manifest
	newSuffix     = ".new" // of a segment that is not complete yet
	formatVersion = 1
	magic         = "semellog"

	offsetBits  = 23                            // of a place: a segment has at most 64 MiB
	maxSegment  = 1 << (offsetBits + 3)         // bytes
	maxSegments = 1 << (placeBits - offsetBits) // in the log at a time
	markEvery   = 64 << 10                      // bytes between the marks of a segment
	zerosAtOnce = 1 << 20                       // written ahead with one sync
)

// segment is one file of the log, written in full with zeros before its first entry, because a sync of bytes that are
// there already is several times as fast as one of a file that grows.
//
//	0  "semellog"
//	8  version uint32
//	12 salt    uint32  seeds the sums of its entries, so that no outcome looks like one
//	16 number  uint64  one more than that of the segment before it
//	24 bytes   uint64  of the file
//	32 fence   uint64  every fence given before it was made is less
//	40 clock   int64   the store's clock when it was made
//	48 crc     uint32  CRC-32C of all before
//
// The same once more in the middle of the first 4096 bytes, which hold no entries. Every later version begins so.
type segment struct {
	number uint64
	salt   uint32
	bytes  int64
	fence  uint64
	clock  int64
	f      file

	// Guarded by the journal's lock, as long as entries are added.
	used  int64       // where the next entry begins
	marks []uint32    // in units of eight bytes: the first entry at or behind each multiple of markEvery
	ends  [64]lifeEnd // by the logarithm of how long after their entries records expire
}

// lifeEnd counts the bytes of records that expire at about the same time.
type lifeEnd struct {
	bytes int64
	last  int64 // the latest expiry, in ms
}

func segmentName(number uint64) string { return fmt.Sprintf("%012d%s", number, segmentSuffix) }

func oldName(number uint64) string { return fmt.Sprintf("%012d%s", number, oldSuffix) }

// segmentNumber reads a name that ends in suffix; ok is false for other files.
func segmentNumber(name, suffix string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil && fmt.Sprintf("%012d%s", number, suffix) == name
}

// createSegment makes a file of zeros with a header, which is there whole or not at all.
func createSegment(d disk, s segment) (*segment, error) {
	s.used, s.salt = segmentHeader, rand.Uint32() //nolint:gosec // it tells entries from accidents.
	err := createWhole(d, segmentName(s.number), func(f file) error {
		s.f = f
		return s.fill()
	})
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// createWhole makes a file that is there with all that write puts into it, or not at all. An error closes it.
func createWhole(d disk, name string, write func(file) error) error {
	f, err := d.create(name + newSuffix)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = d.rename(name+newSuffix, name)
	}
	if err == nil {
		err = d.sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make %s: %w", name, err), f.Close(), d.remove(name+newSuffix))
	}
	return nil
}

func (s *segment) fill() error {
	zeros := make([]byte, min(zerosAtOnce, s.bytes))
	for at := int64(0); at < s.bytes; at += int64(len(zeros)) {
		if _, err := s.f.WriteAt(zeros[:min(int64(len(zeros)), s.bytes-at)], at); err != nil {
			return err
		}
		if err := s.f.sync(); err != nil {
			return err
		}
	}
	for _, at := range headerCopies() {
		if _, err := s.f.WriteAt(s.header(), at); err != nil {
			return err
		}
	}
	return s.f.sync()
}

func (s *segment) header() []byte {
	b := append(make([]byte, 0, segmentHeader), magic...)
	b = binary.LittleEndian.AppendUint32(b, formatVersion)
	b = binary.LittleEndian.AppendUint32(b, s.salt)
	b = binary.LittleEndian.AppendUint64(b, s.number)
	b = appendInt(b, s.bytes)
	b = binary.LittleEndian.AppendUint64(b, s.fence)
	b = appendInt(b, s.clock)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// openSegment reads the header of a segment.
func openSegment(d disk, number uint64) (*segment, error) {
	name := segmentName(number)
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	s := &segment{number: number, f: f, used: segmentHeader}
	if err := s.readHeader(); err != nil {
		return nil, errors.Join(fmt.Errorf("segment %s: %w", name, err), f.Close())
	}
	return s, nil
}

func (s *segment) readHeader() error {
	err := errDamaged
	for _, at := range headerCopies() {
		if err = s.readCopy(at); !errors.Is(err, errDamaged) {
			break
		}
	}
	if err != nil {
		return err
	}
	size, err := s.f.size()
	if err == nil && size < s.bytes {
		err = &cutOffError{left: size, bytes: s.bytes}
	}
	return err
}

// cutOffError is the damage of a segment that is shorter than it was made.
type cutOffError struct{ left, bytes int64 }

func (c *cutOffError) Error() string {
	return fmt.Sprintf("%v: it was cut off: %d of %d bytes are left", errDamaged, c.left, c.bytes)
}

func (c *cutOffError) Unwrap() error { return errDamaged }

// headerCopies returns the offsets of the header: without one no entry of a segment can be verified.
func headerCopies() [2]int64 { return [2]int64{0, segmentHeader / 2} }

func (s *segment) readCopy(at int64) error {
	var b [52]byte
	if _, err := s.f.ReadAt(b[:], at); err != nil {
		return fmt.Errorf("%w: its header: %w", errDamaged, err)
	}
	version := binary.LittleEndian.Uint32(b[8:])
	switch {
	case string(b[:8]) != magic || crc32.Checksum(b[:48], castagnoli) != binary.LittleEndian.Uint32(b[48:]):
		return fmt.Errorf("%w: its header", errDamaged)
	case version > formatVersion:
		return fmt.Errorf("it has format %d, this program knows %d (upgrade it)", version, formatVersion)
	case binary.LittleEndian.Uint64(b[16:]) != s.number:
		return fmt.Errorf("%w: it is segment %d (was it renamed?)", errDamaged, binary.LittleEndian.Uint64(b[16:]))
	}
	s.salt, s.bytes = binary.LittleEndian.Uint32(b[12:]), intAt(b[:], 24)
	s.fence, s.clock = binary.LittleEndian.Uint64(b[32:]), intAt(b[:], 40)
	return nil
}

// placeOf is the place of an offset.
func (s *segment) placeOf(at int64) place {
	return place(s.number%maxSegments<<offsetBits | uint64(at/entryAlign)) //nolint:gosec // an offset is positive.
}

// offset of a place in its segment.
func (p place) offset() int64 { return int64(p&(1<<offsetBits-1)) * entryAlign }

func (p place) segment() int { return int(p >> offsetBits) }

// noteEntry counts an entry that was added at this offset.
func (s *segment) noteEntry(e *entry, at int64, size int) {
	for int64(len(s.marks))*markEvery <= at {
		s.marks = append(s.marks, uint32(at/entryAlign)) //nolint:gosec // offsetBits.
	}
	s.used = at + int64(size)
	if e.kind != kindRecord || e.state == semel.StateClaimed { // expireHeld counts those that are open
		return
	}
	end := &s.ends[bits.Len64(uint64(max(0, e.expires-e.clock)))&63]
	end.bytes += int64(size)
	end.last = max(end.last, e.expires)
}

// living is at least the bytes of the records that have not expired, without claims.
func (s *segment) living(now int64) (bytes int64) {
	for _, end := range s.ends {
		if end.last > now {
			bytes += end.bytes
		}
	}
	return bytes
}

// read returns the entry at this offset, in memory of its own.
func (s *segment) read(at int64) (e entry, err error) {
	buf := make([]byte, 1024)
	n, err := s.f.ReadAt(buf[:min(int64(len(buf)), s.bytes-at)], at)
	if err != nil {
		return e, fmt.Errorf("read segment %s at %d: %w", segmentName(s.number), at, err)
	}
	if size := entrySize(buf[:n]); size > n && int64(size) <= s.bytes-at {
		buf = make([]byte, size)
		if _, err := s.f.ReadAt(buf, at); err != nil {
			return e, fmt.Errorf("read segment %s at %d: %w", segmentName(s.number), at, err)
		}
		n = size
	}
	if !e.decode(buf[:n], s.salt) {
		return e, fmt.Errorf("segment %s at %d: %w: an entry whose sum is wrong", segmentName(s.number), at, errDamaged)
	}
	return e, nil
}
