package ids_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/semel-dev/semel/ids"
)

// The example of RFC 9562, appendix A.6.
func TestUUIDOfTheSpecification(t *testing.T) {
	t.Parallel()
	const text = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
	u, err := ids.ParseUUID(strings.ToUpper(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := u.String(); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
	if got, want := u.Time(), time.Date(2022, time.February, 22, 19, 22, 22, 0, time.UTC); u.Version() != 7 || !got.Equal(want) {
		t.Errorf("got version %d of %v, want 7 of %v", u.Version(), got, want)
	}
}

// The layout of version 7, with the fraction of the millisecond in rand_a.
func TestUUIDLayout(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.March, 1, 12, 0, 0, 123_000_000, time.UTC)
	g := ids.UUIDs{Now: func() time.Time { return at.Add(250 * time.Microsecond) }}
	u := g.New()
	if u.Version() != 7 || u[8]&0xC0 != 0x80 {
		t.Errorf("version %d and variant %08b", u.Version(), u[8])
	}
	if got := u.Time(); !got.Equal(at.Truncate(time.Millisecond)) {
		t.Errorf("got the time %v, want %v", got, at)
	}
	if got, want := int(u[6]&0xF)<<8|int(u[7]), 4096/4; got != want {
		t.Errorf("got the fraction %d/4096, want %d/4096", got, want)
	}
	if again := (&ids.UUIDs{Now: g.Now}).New(); again == u || again.Time() != u.Time() {
		t.Errorf("another process made %v after %v: want the same time and other chance", again, u)
	}
}

func TestUUIDText(t *testing.T) {
	t.Parallel()
	good := new(ids.UUIDs).New()
	for name, text := range map[string]string{
		"empty": "", "short": good.String()[1:], "long": good.String() + "0", "braces": "{" + good.String() + "}",
		"no dashes": strings.ReplaceAll(good.String(), "-", ""), "urn": "urn:uuid:" + good.String(),
		"other digit": "g" + good.String()[1:], "dash elsewhere": "-" + good.String()[1:],
		"NUL": good.String()[:35] + "\x00", "other variant": good.String()[:19] + "c" + good.String()[20:],
		"nil": "00000000-0000-0000-0000-000000000000", "wide digits": strings.Repeat("０", 12),
	} {
		if u, err := ids.ParseUUID(text); !errors.Is(err, ids.ErrMalformed) || u != (ids.UUID{}) {
			t.Errorf("%s: got %v, %v; want ErrMalformed", name, u, err)
		}
	}
	var v4 ids.UUID
	if err := json.Unmarshal([]byte(`"8e03978e-40d5-43dd-bc93-6894a57f9324"`), &v4); err != nil || v4.Version() != 4 || !v4.Time().IsZero() {
		t.Errorf("got version %d of %v and %v, want 4 of no time", v4.Version(), v4.Time(), err)
	}
	if err := json.Unmarshal([]byte(`"8e03978e"`), &v4); !errors.Is(err, ids.ErrMalformed) {
		t.Errorf("got %v, want ErrMalformed", err)
	}
}

// The example of the specification, its greatest value, and what is beyond.
func TestULIDText(t *testing.T) {
	t.Parallel()
	u, err := ids.ParseULID("01arz3ndektsv4rrffq69g5fav")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := u.String(), "01ARZ3NDEKTSV4RRFFQ69G5FAV"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := u.Time(), time.UnixMilli(1469922850259).UTC(); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if most, err := ids.ParseULID("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"); err != nil || most != ids.ULID(bytes.Repeat([]byte{0xFF}, 16)) {
		t.Errorf("got %v, %v; want all ones", most, err)
	}
	for name, text := range map[string]string{
		"empty": "", "short": "01ARZ3NDEKTSV4RRFFQ69G5FA", "too great": "80000000000000000000000000", "letter first": "Z0000000000000000000000000",
		"I": "01ARZ3NDEKTSV4RRFFQ69G5FAI", "L": "01ARZ3NDEKTSV4RRFFQ69G5FAL", "O": "01ARZ3NDEKTSV4RRFFQ69G5FAO", "u": "01ARZ3NDEKTSV4RRFFQ69G5FAu",
		"dash": "01ARZ3NDEKTSV4RRFFQ69G5FA-", "NUL": "\x001ARZ3NDEKTSV4RRFFQ69G5FAV",
	} {
		if u, err := ids.ParseULID(text); !errors.Is(err, ids.ErrMalformed) || u != (ids.ULID{}) {
			t.Errorf("%s: got %v, %v; want ErrMalformed", name, u, err)
		}
	}
}

// Both ways between bytes and text, whose orders are the same.
func TestTextKeepsTheOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := func(label string) (b [16]byte) {
			copy(b[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
			return b
		}
		a, b := raw("a"), raw("b")
		if back, err := ids.ParseULID(ids.ULID(a).String()); err != nil || back != ids.ULID(a) {
			t.Fatalf("%x became %x, %v", a, back, err)
		}
		if got, want := strings.Compare(ids.ULID(a).String(), ids.ULID(b).String()), bytes.Compare(a[:], b[:]); got != want {
			t.Fatalf("ULIDs compare as %d, their bytes as %d", got, want)
		}
		a[8], b[8] = a[8]&0x3F|0x80, b[8]&0x3F|0x80
		if back, err := ids.ParseUUID(ids.UUID(a).String()); err != nil || back != ids.UUID(a) {
			t.Fatalf("%x became %x, %v", a, back, err)
		}
		if got, want := strings.Compare(ids.UUID(a).String(), ids.UUID(b).String()), bytes.Compare(a[:], b[:]); got != want {
			t.Fatalf("UUIDs compare as %d, their bytes as %d", got, want)
		}
	})
}

// Ids grow whatever the clock does: stop, go on, jump back.
func TestIDsGrowWhateverTheClockDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		uuids, ulids := ids.UUIDs{Now: clock}, ids.ULIDs{Now: clock}
		var lastUUID, lastULID string
		for _, step := range rapid.SliceOfN(rapid.Int64Range(-3e6, 3e6), 1, 50).Draw(t, "steps in ns") {
			now = now.Add(time.Duration(step))
			ulid, err := ulids.New()
			if err != nil {
				t.Fatal(err)
			}
			if uuid := uuids.New().String(); uuid <= lastUUID {
				t.Fatalf("UUID %s after %s", uuid, lastUUID)
			} else {
				lastUUID = uuid
			}
			if ulid.String() <= lastULID {
				t.Fatalf("ULID %s after %s", ulid, lastULID)
			}
			lastULID = ulid.String()
		}
	})
}

// On a clock that goes on, the ids show its time.
func TestIDsShowTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var uuids ids.UUIDs
		var ulids ids.ULIDs
		for range 5 {
			ulid, err := ulids.New()
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now().Truncate(time.Millisecond).UTC()
			if diff := cmp.Diff([]time.Time{now, now}, []time.Time{uuids.New().Time(), ulid.Time()}); diff != "" {
				t.Errorf("times (-want +got):\n%s", diff)
			}
			time.Sleep(1700 * time.Microsecond)
		}
	})
}

// Many goroutines on one generator: every id once, and each goroutine sees its own grow.
func TestGeneratorsRace(t *testing.T) {
	t.Parallel()
	var uuids ids.UUIDs
	var ulids ids.ULIDs
	snowflakes, err := ids.NewSnowflakes(7, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, next := range map[string]func() (string, error){
		"UUID": func() (string, error) { return uuids.New().String(), nil },
		"ULID": func() (string, error) { u, err := ulids.New(); return u.String(), err },
		"Snowflake": func() (string, error) {
			id, err := snowflakes.New(t.Context())
			return id.String(), err // all have as many digits
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raceFor(t, 32, 2000, next)
		})
	}
}

// raceFor fails when two calls of next return the same, or one less than the last one of its goroutine.
func raceFor(t *testing.T, goroutines, each int, next func() (string, error)) {
	t.Helper()
	made := make([][]string, goroutines)
	var running sync.WaitGroup
	for i := range made {
		running.Go(func() {
			for range each {
				id, err := next()
				if err != nil {
					t.Error(err)
					return
				}
				made[i] = append(made[i], id)
			}
			if !slices.IsSorted(made[i]) {
				t.Error("a goroutine's ids are not in order")
			}
		})
	}
	running.Wait()
	all := slices.Concat(made...)
	slices.Sort(all)
	if got := len(slices.Compact(all)); got != goroutines*each {
		t.Errorf("got %d different ids of %d", got, goroutines*each)
	}
}

func TestScanAndValue(t *testing.T) {
	t.Parallel()
	uuid := new(ids.UUIDs).New()
	ulid, err := new(ids.ULIDs).New()
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []any{uuid.String(), []byte(uuid.String()), uuid[:]} {
		var got ids.UUID
		if err := got.Scan(src); err != nil || got != uuid {
			t.Errorf("scanned %v from a %T: %v", got, src, err)
		}
	}
	for _, src := range []any{ulid.String(), []byte(ulid.String()), ulid[:]} {
		var got ids.ULID
		if err := got.Scan(src); err != nil || got != ulid {
			t.Errorf("scanned %v from a %T: %v", got, src, err)
		}
	}
	for _, src := range []any{nil, int64(1), "x"} {
		if err := new(ids.UUID).Scan(src); err == nil {
			t.Errorf("a UUID was scanned from a %T", src)
		}
		if err := new(ids.ULID).Scan(src); err == nil {
			t.Errorf("a ULID was scanned from a %T", src)
		}
	}
	if v, err := uuid.Value(); err != nil || v != uuid.String() {
		t.Errorf("got %v, %v", v, err)
	}
	if v, err := ulid.Value(); err != nil || v != ulid.String() {
		t.Errorf("got %v, %v", v, err)
	}
}
