package redisstore_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/redisstore"
)

// A list is put together from every node, in pages, without holes.
func TestListOfManyRecords(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const records, page = 2500, 700
			s := open(t, p.dsn(t), nil)
			all := make([]semel.ClaimParams, records)
			for i := range all {
				all[i] = params(fmt.Sprint(i))
			}
			if _, _, err := s.Batch(t.Context(), all, nil); err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			list := semel.ListParams{Limit: page}
			for {
				got, err := s.List(t.Context(), list)
				noError(t, err)
				for i, rec := range got.Records {
					if seen[rec.Name] || i > 0 && rec.Fence >= got.Records[i-1].Fence {
						t.Fatalf("%s with fence %d is out of its order", rec.Name, rec.Fence)
					}
					seen[rec.Name] = true
				}
				if list.After = got.Next; list.After == "" {
					break
				}
			}
			if len(seen) != records {
				t.Errorf("%d of %d records were listed", len(seen), records)
			}
		})
	}
}

// What another program keeps under the prefix, and what a newer version of
// Semel wrote, is left out.
func TestListAmongOthers(t *testing.T) {
	t.Parallel()
	s, look := open(t, single.dsn(t), nil), single.raw(t)
	kept := wins(t, s, params("kept"))
	settles(t, s, kept, completed(strings.Repeat("long", 5000)))
	newer := wins(t, s, params("newer"))
	keyOf := func(name string) string { return redisstore.Key(s, params(name).Digest) }
	for _, words := range [][]string{
		{"SETRANGE", redisstore.Key(s, newer.Digest), "32", "K"},
		{"RPUSH", keyOf("a list"), "x"},
		{"SET", keyOf("short"), "x"},
		{"SET", strings.TrimRight(keyOf("cut"), "0123456789abcdef"), "x"},
	} {
		noError(t, look.do(words...).Error())
	}
	for _, outcomes := range []bool{false, true} {
		page, err := s.List(t.Context(), semel.ListParams{Outcomes: outcomes})
		if err != nil || len(page.Records) != 1 || page.Records[0].Name != "kept" || (page.Records[0].Outcome != nil) != outcomes {
			t.Errorf("got %+v, error %v, want the one record", page, err)
		}
	}
}

// Records that are there must be readable by later versions: this one was
// written by the first.
func TestFirstLayout(t *testing.T) {
	t.Parallel()
	const claimed = "0006426ae4b5b7d0" + // fence
		"00000199e1c5a800" + // claimed at
		"0000000005265c00" + // expires after
		"00000000000003e8" + // settled after
		"6b2d" + // kept, without waiters
		"000000000000ea60" + // lease
		"0000000005265c00" + // retention
		"00000002" + // attempt
		"01000000000000000000000000000000" + // owner
		"0202020202020202020202020202020202020202020202020202020202020202" + // fingerprint
		"0005" + "0004" + "73636f7065" + "6e616d65" + // scope, name
		"0004" + "6e6f7465" + // note
		"6f7574636f6d65" // outcome
	at := time.UnixMilli(0x199e1c5a800).UTC()
	clock := newHands()
	clock.ms.Store(at.UnixMilli() + 2000)
	s := open(t, single.dsn(t), redisstore.WithClock(redisstore.Options{}, clock.ms.Load))
	value, err := hex.DecodeString(claimed)
	noError(t, err)
	d := params("k").Digest
	noError(t, single.raw(t).do("SET", redisstore.Key(s, d), string(value)).Error())
	want := semel.Record{
		Digest: d, Scope: "scope", Name: "name", State: semel.StateCompleted, Fence: 0x6426ae4b5b7d0, Owner: semel.Owner{1}, Attempt: 2,
		Outcome: []byte("outcome"), Kept: true, Note: "note",
		ClaimedAt: at, SettledAt: at.Add(time.Second), LeaseUntil: at.Add(time.Minute), ExpiresAt: at.Add(24 * time.Hour),
		ReadAt: at.Add(2 * time.Second),
	}
	for i := range want.Fingerprint {
		want.Fingerprint[i] = 2
	}
	got, err := s.Lookup(t.Context(), d)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, record (-want +got)\n%s", err, diff)
	}
	if key := redisstore.Key(s, semel.Digest{0xab, 0xcd, 0xef}); !strings.HasSuffix(key, ":{abcd}ef"+strings.Repeat("0", 58)) {
		t.Errorf("got key %q", key)
	}
}

// Drop removes what the store made, and nothing else.
func TestDrop(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := p.dsn(t)
			s, other, look := open(t, dsn, nil), open(t, dsn+":other", nil), p.raw(t)
			kept := wins(t, other, params("kept"))
			for i := range 100 {
				settles(t, s, wins(t, s, params(fmt.Sprint(i))), completed("answer"))
			}
			noError(t, s.Drop(t.Context()))
			lists(t, s, 0)
			if n, err := look.do("EXISTS", redisstore.FenceKey(s)).AsInt64(); err != nil || n != 0 {
				t.Errorf("the counter is left, error %v", err)
			}
			if _, err := other.Lookup(t.Context(), kept.Digest); err != nil {
				t.Errorf("another store's record: %v", err)
			}
		})
	}
}
