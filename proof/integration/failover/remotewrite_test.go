package failover_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// Where synchronous_commit is remote_write, a commit does not wait until the standby has flushed it. If the standby's host crashes
// then, and the standby takes over, a claim that was acknowledged is lost (promise 1). The store warns.
func TestRemoteWritePromotion(t *testing.T) {
	t.Parallel()
	disk := testserver.NewDisk(t)
	p := newPairWith(t, testserver.StandbyOptions{Sync: true, Disk: disk})
	var log bytes.Buffer
	s := p.storeWith(t, "&synchronous_commit=remote_write", &log)
	if !strings.Contains(log.String(), "synchronous_commit is remote_write") {
		t.Errorf("got the log %q, want a warning about synchronous_commit", &log)
	}
	log.Reset()
	patient := p.storeWith(t, "&synchronous_commit=on", &log)
	if strings.Contains(log.String(), "synchronous_commit") {
		t.Errorf("got the log %q, want no warning about a safe setting", &log)
	}
	kept := acknowledge(t, s, 0, 1)[0]

	if p.claimUnflushed(t, disk, patient, digest(1, 0)) {
		t.Error("with synchronous_commit on, a claim was acknowledged that the standby has not flushed")
	}
	mustDo(t, disk.Release())
	tries := 0
	eventually(t, "a claim is acknowledged that the standby has not flushed", func() bool {
		tries++
		acknowledged := p.claimUnflushed(t, disk, s, digest(2, tries))
		if !acknowledged { // something else was to be flushed before it
			mustDo(t, disk.Release())
		}
		return acknowledged
	})
	p.crashStandby(t)
	mustDo(t, disk.Release())
	p.primary.Kill()
	p.standby.Start()
	p.standby.Promote()

	if rec := lookup(t, s, digest(2, tries)); rec.State != semel.StateAbsent {
		t.Errorf("got %v for what the standby had not flushed, want absent: the warning is wrong", rec.State)
	}
	if rec := lookup(t, s, digest(0, 0)); rec.Fence != kept || rec.State != semel.StateCompleted {
		t.Errorf("what the standby had flushed is lost: %v", rec)
	}
}

// claimUnflushed reports whether a claim is acknowledged while the standby flushes nothing.
func (p *pair) claimUnflushed(t *testing.T, disk *testserver.Disk, s semel.Store, d semel.Digest) bool {
	t.Helper()
	p.waitReplayed(t)
	mustDo(t, disk.Hold())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := claim(ctx, s, d)
	return err == nil
}

// crashStandby ends the standby as the crash of its host does: what it has written and not flushed is gone.
func (p *pair) crashStandby(t *testing.T) {
	t.Helper()
	var place struct {
		file, dir string
		offset    int64
	}
	query(t, p.standby.DSN(), "SHOW data_directory", &place.dir)
	const flushed = "pg_walfile_name_offset((SELECT flush_lsn FROM pg_stat_replication))"
	query(t, p.primary.DSN(), "SELECT file_name FROM "+flushed, &place.file)
	query(t, p.primary.DSN(), "SELECT file_offset FROM "+flushed, &place.offset)
	p.standby.Kill()

	files, err := filepath.Glob(filepath.Join(place.dir, "pg_wal", strings.Repeat("?", len(place.file))))
	mustDo(t, err)
	for _, file := range files {
		switch name := filepath.Base(file); {
		case name > place.file:
			mustDo(t, os.Remove(file))
		case name == place.file:
			info, err := os.Stat(file)
			mustDo(t, err)
			mustDo(t, os.Truncate(file, place.offset))
			mustDo(t, os.Truncate(file, info.Size())) // with zeros
		}
	}
}

var mustDo = claimtest.NoError
