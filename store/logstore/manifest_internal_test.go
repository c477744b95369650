package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
)

// filled makes a log of several segments on a disk.
func filled(t *testing.T) (d *powerDisk, records []semel.Record) {
	t.Helper()
	d = newPowerDisk()
	s := openOn(t, d, Options{})
	for i := range 60 {
		rec := claimtest.Wins(t, s, claimtest.Params(fmt.Sprint("k", i)))
		claimtest.Settles(t, s, rec, claimtest.Completed(strings.Repeat("x", 1000)))
		records = append(records, rec)
	}
	claimtest.NoError(t, s.Close())
	return d, records
}

// earlier makes a log as the first versions left it: no manifest, and other names.
func earlier(t *testing.T) (*powerDisk, []semel.Record) {
	t.Helper()
	d, records := filled(t)
	claimtest.NoError(t, d.remove(manifestName))
	l, err := readLayout(d)
	claimtest.NoError(t, err)
	for _, number := range l.numbers {
		claimtest.NoError(t, d.rename(segmentName(number), oldName(number)))
	}
	claimtest.NoError(t, d.sync())
	return d, records
}

// A log that an earlier version wrote opens, with one warning, and is then as every other.
func TestOpensALogOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	d, records := earlier(t)
	var log bytes.Buffer
	for range 2 {
		s := openOn(t, d, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for i := range records {
			claimtest.WantFound(t, s, records[i].Digest, semel.StateCompleted)
		}
		claimtest.NoError(t, s.Close())
	}
	if n := strings.Count(log.String(), "an earlier version wrote this log"); n != 1 {
		t.Errorf("got %d warnings, want one: %s", n, &log)
	}
	for name := range d.files {
		if strings.HasSuffix(name, oldSuffix) {
			t.Errorf("%s has the name of an earlier version", name)
		}
	}
	delete(d.files, segmentName(1))
	_, err := Open(t.Context(), "sim", &Options{segment: powerSegment, disk: d})
	claimtest.Words(t, err, segmentName(1)+" is damaged", "missing", "semel records check")
}

// Promises 2 and 7: whenever the power goes while a log of an earlier version opens, nothing is lost, and it opens again.
func TestPowerCutOfALogOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	for i := range 60 {
		for seed := range uint64(4) {
			d, records := earlier(t)
			d.left = i
			s, err := Open(t.Context(), "sim", &Options{segment: powerSegment, disk: d})
			if err == nil {
				_ = s.Close()
			} else if !errors.Is(err, errPower) {
				t.Fatalf("after %d operations: %v", i, err)
			}
			s = openOn(t, d.cut(rand.New(rand.NewPCG(seed, uint64(i)))), Options{})
			for i := range records {
				claimtest.WantFound(t, s, records[i].Digest, semel.StateCompleted)
			}
			claimtest.NoError(t, s.Close())
		}
	}
}

// Promise 2: whenever the power goes while expired segments are removed, the log opens again.
func TestPowerCutWhileSegmentsGo(t *testing.T) {
	t.Parallel()
	later := Options{Now: func() time.Time { return time.Now().AddDate(1, 0, 0) }}
	for i := range 40 {
		d, _ := filled(t)
		s := openOn(t, d, later)
		d.mu.Lock()
		d.left = i
		d.mu.Unlock()
		err := errors.Join(s.expire(), s.Close())
		if err != nil && !errors.Is(err, errPower) {
			t.Fatalf("after %d operations: %v", i, err)
		}
		for seed := range uint64(4) {
			claimtest.NoError(t, openOn(t, d.cut(rand.New(rand.NewPCG(seed, uint64(i)))), later).Close())
		}
	}
}

// Files that another version left in the directory since are not taken for a part of the log.
func TestRefusesFilesOfAnotherLog(t *testing.T) {
	t.Parallel()
	d, _ := earlier(t)
	first := d.files[oldName(1)]
	claimtest.NoError(t, openOn(t, d, Options{}).Close())
	d.files[oldName(1)] = first
	_, err := Open(t.Context(), "sim", &Options{segment: powerSegment, disk: d})
	claimtest.Words(t, err, oldName(1), "is of another log", "move its files away")
}
