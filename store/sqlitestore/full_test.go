package sqlitestore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/sqlitestore"
	"github.com/semel-dev/semel/store/sqlitestore/internal/smalldisk"
)

func listAll() semel.ListParams { return semel.ListParams{} }

// untilFull claims until the store is full, and returns how many it won.
func untilFull(t *testing.T, s *sqlitestore.Store, prefix string) (claimed int, full error) {
	t.Helper()
	for i := range 100_000 {
		p := params(fmt.Sprint(prefix, i))
		_, won, err := s.Claim(t.Context(), p)
		switch {
		case errors.Is(err, semel.ErrFull):
			wantGone(t, s, p.Digest)
			return i, err
		case err != nil || !won:
			t.Fatalf("claim %d: won %v, error %v", i, won, err)
		}
	}
	t.Fatal("the store never got full")
	return 0, nil
}

// The bound of the file: what does not fit is refused and changes nothing; a
// sweep makes room, without a restart.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	clock := &claimtest.Clock{}
	path := filepath.Join(t.TempDir(), "semel.db")
	const bound = 256 << 10
	s := open(t, path, &sqlitestore.Options{Now: clock.Now, MaxBytes: bound})
	n, full := untilFull(t, s, "k")
	wantWords(t, full, path, "raise the bound of the file, or sweep")
	if got, err := s.Count(t.Context()); err != nil || got != int64(n) {
		t.Errorf("got %d records, error %v, want %d", got, err, n)
	}
	first := params("k0")
	wantErr(t, "settle: ", s.Settle(t.Context(), first.Digest, 1, completed(strings.Repeat("x", bound))), semel.ErrFull)
	wantFound(t, s, first.Digest, semel.StateClaimed)
	clock.Advance(lease + retention)
	sweeps(t, s, n+1, n)
	wins(t, s, first)
	noError(t, s.Close())
	if size := len(read(t, path)); size > bound {
		t.Errorf("the file has %d bytes, want at most %d", size, bound)
	}
	check(t, path)
}

// A disk that is full fails every step of a batch with ErrFull, and nothing of
// them is visible. When there is room again the store goes on, with everything
// it had acknowledged.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := smalldisk.New(t, 2<<20)
	path := filepath.Join(disk.Dir, "semel.db")
	g := newGate()
	s := open(t, path, &sqlitestore.Options{Now: g.Now, BusyTimeout: time.Second})
	first := wins(t, s, params("first"))
	disk.Fill(t)
	n, full := untilFull(t, s, "k")
	wantWords(t, full, "claim", path, "free space on the disk")

	done := g.hold(t, t.Context(), s, "held")
	const batch = 10
	var wg sync.WaitGroup
	for i := range batch {
		wg.Go(func() {
			if _, _, err := s.Claim(t.Context(), params(fmt.Sprint("batch", i))); !errors.Is(err, semel.ErrFull) {
				t.Errorf("claim in a batch: got %v, want %v", err, semel.ErrFull)
			}
		})
	}
	testserver.Eventually(t, "the claims to queue", func() bool { return s.Queued() == batch })
	close(g.leave)
	wg.Wait()
	wantErr(t, "", <-done, semel.ErrFull)
	wantErr(t, "settle: ", s.Settle(t.Context(), first.Digest, first.Fence, completed(strings.Repeat("x", 100_000))), semel.ErrFull)
	if got, err := s.Count(t.Context()); err != nil || got != int64(n+1) {
		t.Errorf("got %d records, error %v, want %d", got, err, n+1)
	}
	for i := range batch {
		wantGone(t, s, params(fmt.Sprint("batch", i)).Digest)
	}

	disk.Empty(t)
	if err := s.Settle(t.Context(), first.Digest, first.Fence, completed("x")); err != nil {
		t.Errorf("settle with room again: %v", err)
	}
	next, won, err := s.Claim(t.Context(), params("batch0"))
	if err != nil || !won || next.Fence <= first.Fence {
		t.Errorf("claim with room again: won %v, fence %d, error %v", won, next.Fence, err)
	}
	for i := range n {
		wantFound(t, s, params(fmt.Sprint("k", i)).Digest, semel.StateClaimed)
	}
	check(t, path)
}

// Promise 3: on a full disk, claims that are held are settled in the room that was kept for them, and their intents are
// not unknown. New claims are refused, records are found, and the room is kept again once there is space.
func TestHeldClaimsAreSettledOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smalldisk.New(t, 4<<20)
	path := filepath.Join(disk.Dir, "semel.db")
	s := open(t, path, nil)
	other := filepath.Join(disk.Dir, "other") // of another program, which ends
	if err := os.WriteFile(other, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var held []semel.Record
	for i := range 54 {
		held = append(held, wins(t, s, params(fmt.Sprint("held", i))))
	}
	_, full := untilFull(t, s, "k")
	disk.Fill(t)
	wantWords(t, full, "claim", path, "free space on the disk")
	for i, rec := range held {
		if err := s.Settle(t.Context(), rec.Digest, rec.Fence, completed("")); err != nil {
			t.Fatalf("settle claim %d of %d on a full disk: %v", i, len(held), err)
		}
	}
	if rec, won, err := s.Claim(t.Context(), params("held0")); err != nil || won || rec.State != semel.StateCompleted {
		t.Errorf("a repeated request on a full disk: %v, won %v, error %v; want the completed record", rec.State, won, err)
	}
	if _, _, err := s.Claim(t.Context(), params("new")); !errors.Is(err, semel.ErrFull) {
		t.Errorf("a new claim on a full disk: got %v, want %v", err, semel.ErrFull)
	}
	disk.Empty(t)
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	wins(t, s, params("new"))
	if info, err := os.Stat(path + "-ballast"); err != nil || info.Size() == 0 {
		t.Errorf("with space again no room is kept: %v", err)
	}
	check(t, path)
}
