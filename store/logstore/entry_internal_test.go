package logstore

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
)

// goldenEntries are one of each kind.
func goldenEntries() map[string]entry {
	rec := record{
		digest: semel.Digest{1, 2, 31: 3}, fingerprint: semel.Fingerprint{4, 31: 5}, owner: semel.Owner{6, 15: 7}, key: "alicek1",
		note: "why", outcome: []byte("the answer"), fence: 1_700_000_000_000_001, claimed: 1000, settled: 2000, lease: 3000, expires: 4000,
		attempt: 2, scopeLen: 5, state: semel.StateCompleted, kept: true,
	}
	deadlines := record{digest: rec.digest, fence: 9, lease: 10, expires: 11}
	return map[string]entry{
		"record":  {number: 7, clock: 2000, back: 3, kind: kindRecord, record: rec},
		"renew":   {number: 8, clock: 2001, kind: kindRenew, record: deadlines},
		"release": {number: 9, clock: 2002, kind: kindRelease, record: record{digest: rec.digest, fence: 9}},
		"gap":     {number: 10, clock: 64, back: 2, kind: kindGap},
		"mark":    {number: 13, clock: 2003, kind: kindMark},
	}
}

const goldenSalt = 0xC0FFEE

// The format on disks never changes without a new formatVersion.
func TestGoldenEntries(t *testing.T) {
	t.Parallel()
	for name, e := range goldenEntries() {
		path := filepath.Join("testdata", name+".hex")
		got := e.encode(nil, goldenSalt)
		if os.Getenv("SEMEL_UPDATE_GOLDEN") != "" {
			claimtest.NoError(t, os.WriteFile(path, []byte(hex.Dump(got)), 0o600))
		}
		want, err := os.ReadFile(path)
		claimtest.NoError(t, err)
		if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), hex.Dump(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		var back entry
		if !back.decode(got, goldenSalt) || !cmp.Equal(back, e, cmp.AllowUnexported(entry{}, record{})) {
			t.Errorf("%s is read as %+v, want %+v", name, back, e)
		}
	}
	s := segment{number: 12, salt: goldenSalt, bytes: 1 << 22, fence: 13, clock: 14}
	path := filepath.Join("testdata", "segment.hex")
	if os.Getenv("SEMEL_UPDATE_GOLDEN") != "" {
		claimtest.NoError(t, os.WriteFile(path, []byte(hex.Dump(s.header())), 0o600))
	}
	want, err := os.ReadFile(path)
	claimtest.NoError(t, err)
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), hex.Dump(s.header())); diff != "" {
		t.Errorf("segment (-want +got):\n%s", diff)
	}
}

// Any bytes are an entry or not, and an entry is encoded as it was read.
func FuzzEntry(f *testing.F) {
	for _, e := range goldenEntries() {
		f.Add(e.encode(nil, goldenSalt))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e entry
		if !e.decode(b, goldenSalt) {
			return
		}
		again := e.encode(nil, goldenSalt)
		var back entry
		if !back.decode(again, goldenSalt) || !cmp.Equal(back, e, cmp.AllowUnexported(entry{}, record{})) {
			t.Errorf("%x is read as %+v, and then as %+v", b, e, back)
		}
	})
}

// The table finds every place, in whatever order digests come, and however alike they are.
func TestTable(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for _, alike := range []bool{false, true} {
		var tab table
		paths := map[place]uint32{}
		n := 40_000
		if alike {
			n = 500
		}
		for i := range n {
			path := rng.Uint32() >> (32 - pathBits)
			if alike {
				path &= 1
			}
			p := place(i + 512)
			paths[p] = path
			tab.put(path, p)
		}
		want := func(what string) {
			t.Helper()
			if tab.n != len(paths) {
				t.Errorf("%s: %d places, want %d", what, tab.n, len(paths))
			}
			for p, path := range paths {
				if !tab.find(path, func(got place) bool { return got == p }) {
					t.Fatalf("%s: place %d is lost", what, p)
				}
			}
		}
		want("put")
		for p, path := range paths {
			if p%3 == 0 {
				tab.move(path, p, p+1<<30)
				delete(paths, p)
				paths[p+1<<30] = path
			}
		}
		want("moved")
		tab.forget(func(p place) bool { return p%10 == 0 })
		for p := range paths {
			if p%10 != 0 {
				delete(paths, p)
			}
		}
		want("forgotten")
	}
}

// A record's key may be as long as a key can be, and its note too.
func TestLongestTexts(t *testing.T) {
	t.Parallel()
	e := goldenEntries()["record"]
	e.key = strings.Repeat("s", semel.MaxScopeBytes) + strings.Repeat("n", semel.MaxKeyBytes)
	e.scopeLen, e.note = semel.MaxScopeBytes, strings.Repeat("x", semel.MaxNoteBytes)
	e.outcome = bytes.Repeat([]byte{1}, maxOutcomeBytes)
	var back entry
	if !back.decode(e.encode(nil, 1), 1) || back.key != e.key || back.note != e.note || !bytes.Equal(back.outcome, e.outcome) {
		t.Error("it is read otherwise")
	}
}
