package logstore

import (
	"errors"
	"fmt"
	"io"
)

const savedSuffix = ".damaged"

// repair writes a gap over each damage: an entry that replaces the missing ones.
func (in *inspection) repair() error {
	for i := range in.report.Damage {
		d := &in.report.Damage[i]
		if err := in.save(d); err != nil {
			return fmt.Errorf("keep a copy of %s: %w (nothing was changed)", d.Segment, err)
		}
		if err := in.fix(d); err != nil {
			return fmt.Errorf("repair %s: %w", d.Segment, err)
		}
	}
	return errors.Join(in.relist(), in.j.disk.sync())
}

// relist makes a manifest of what is there in the place of one that is damaged.
func (in *inspection) relist() (err error) {
	if in.j.manifest == nil && len(in.numbers) > 0 {
		in.j.manifest, err = createManifest(in.j.disk, in.numbers[0], in.numbers[len(in.numbers)-1])
	}
	return err
}

// save copies the damaged segments unchanged, each once.
func (in *inspection) save(d *Damage) error {
	names := []string{d.Segment}
	for _, number := range d.lost {
		names = append(names, segmentName(number))
	}
	if d.right != nil {
		names = append(names, segmentName(d.right.seg.number))
	}
	for _, name := range names {
		saved, ok := in.saved[name]
		if !ok {
			var err error
			if saved, err = in.copyFile(name); err != nil {
				return err
			}
			in.saved[name] = saved
		}
		if d.Saved == "" {
			d.Saved = saved
		}
	}
	return in.j.disk.sync()
}

// copyFile copies a file of the log under a name that is not in use; a file that is missing needs none.
func (in *inspection) copyFile(name string) (saved string, err error) {
	names, err := in.j.disk.names()
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for _, n := range names {
		taken[n] = true
	}
	if !taken[name] {
		return "", nil
	}
	saved = name + savedSuffix
	for i := 2; taken[saved]; i++ {
		saved = fmt.Sprint(name, savedSuffix, i)
	}
	from, err := in.j.disk.open(name)
	if err != nil {
		return "", err
	}
	to, err := in.j.disk.create(saved)
	if err != nil {
		return "", errors.Join(err, from.Close())
	}
	size, err := from.size()
	if err == nil {
		_, err = io.Copy(io.NewOffsetWriter(to, 0), io.NewSectionReader(from, 0, size))
	}
	if err == nil {
		err = to.sync()
	}
	return saved, errors.Join(err, from.Close(), to.Close())
}

func (in *inspection) fix(d *Damage) error {
	if d.Segment == manifestName {
		return nil // relist
	}
	if d.right == nil && len(d.lost) == 0 {
		return in.lengthen(d)
	}
	gap := entry{kind: kindGap}
	if d.right != nil {
		gap.number, gap.back = d.right.first-max(1, d.Entries), uint32(max(1, d.Entries)-1) //nolint:gosec // a log has fewer entries.
	}
	inRight := d.right != nil && d.right.from > segmentHeader && (d.left == nil || d.left.seg != d.right.seg)
	for i, number := range d.lost {
		if err := in.replace(number, &gap, i == 0 && d.right != nil && !inRight); err != nil {
			return err
		}
	}
	switch {
	case inRight:
		return d.right.seg.put(&gap, segmentHeader, d.right)
	case len(d.lost) > 0 || d.right == nil:
		return nil
	}
	return d.left.seg.put(&gap, d.left.to, d.right)
}

// put writes a gap that reaches up to the entries that follow in the segment.
func (s *segment) put(gap *entry, at int64, right *run) error {
	if right.seg == s {
		gap.clock = right.from - at - entryHeader
	}
	if _, err := s.f.WriteAt(gap.encode(nil, s.salt), at); err != nil {
		return err
	}
	return s.f.sync()
}

// replace creates a lost segment again, with a gap as its first entry.
func (in *inspection) replace(number uint64, gap *entry, with bool) error {
	seg, err := createSegment(in.j.disk, segment{number: number, bytes: firstSegment})
	if err != nil {
		return err
	}
	in.segments[number] = seg
	if !with {
		return nil
	}
	return seg.put(gap, segmentHeader, &run{})
}

// lengthen restores the size of a truncated segment.
func (in *inspection) lengthen(d *Damage) error {
	number, _ := segmentNumber(d.Segment, segmentSuffix)
	seg := in.segments[number]
	zeros := make([]byte, min(zerosAtOnce, seg.bytes))
	for at := d.At; at < seg.bytes; at += int64(len(zeros)) {
		if _, err := seg.f.WriteAt(zeros[:min(int64(len(zeros)), seg.bytes-at)], at); err != nil {
			return err
		}
	}
	return seg.f.sync()
}
