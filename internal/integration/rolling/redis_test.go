package rolling_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/integration/rolling/fill"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

// keyspace is the keys of one prefix.
type keyspace struct {
	client rueidis.Client
	prefix string
}

func newKeyspace(t *testing.T) *keyspace {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{testserver.Redis(t)}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &keyspace{client: client, prefix: strings.TrimSuffix(testserver.RedisPrefix(t), ":")}
}

func (k *keyspace) open(t *testing.T) semel.Store {
	t.Helper()
	store, err := redisstore.New(k.client, &redisstore.Options{Prefix: k.prefix})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// values returns every key, without the prefix, with its value.
func (k *keyspace) values(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for cursor := uint64(0); ; {
		page, err := k.client.Do(t.Context(), k.client.B().Scan().Cursor(cursor).Match(k.prefix+":*").Count(1000).Build()).AsScanEntry()
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range page.Elements {
			value, err := k.client.Do(t.Context(), k.client.B().Get().Key(key).Build()).ToString()
			if err != nil {
				t.Fatal(err)
			}
			found[strings.TrimPrefix(key, k.prefix)] = value
		}
		if cursor = page.Cursor; cursor == 0 {
			return found
		}
	}
}

// dump says what the records are, without what differs from run to run: fence,
// time, owner, and how long the work took.
func (k *keyspace) dump(t *testing.T) string {
	t.Helper()
	var lines []string
	for key, v := range k.values(t) {
		if !strings.Contains(key, "{") || len(v) < 106 {
			lines = append(lines, key)
			continue
		}
		expires, settled := number(v[16:24]), number(v[24:32])
		nameAt := 106 + number(v[102:104])
		bodyAt := nameAt + number(v[104:106])
		name, body := v[nameAt:bodyAt], v[bodyAt:]
		if len(body) >= 2 { // a note, and the outcome
			end := 2 + number(body[:2])
			body = body[:end] + string(inOrder(name, []byte(body[end:])))
		}
		lines = append(lines, fmt.Sprintf("%s: expires %d settled %t state %q lease %x … %x %q %x", key,
			expires-settled, v[32] != 'c', v[32:34], v[34:54], v[70:nameAt], name, body))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func number(b string) (n int64) {
	for _, c := range []byte(b) {
		n = n<<8 | int64(c)
	}
	return n
}

const redisGolden = "redis.txt"

// commands are input for `redis-cli`, each value in hexadecimal.
func (k *keyspace) commands(t *testing.T) string {
	t.Helper()
	var lines []string
	for key, v := range k.values(t) {
		lines = append(lines, "SET "+key+" "+hex.EncodeToString([]byte(v))+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func (k *keyspace) load(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "v1", redisGolden))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		value, err := hex.DecodeString(words[2])
		if err != nil {
			t.Fatal(err)
		}
		if err := k.client.Do(t.Context(), k.client.B().Set().Key(k.prefix+words[1]).Value(string(value)).Ex(time.Hour).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRedis: what is in the golden file is replayed, and what this version
// records has its bytes.
func TestRedis(t *testing.T) {
	t.Parallel()
	present := newKeyspace(t)
	store := present.open(t)
	if err := fill.Fill(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if updating() {
		if err := os.WriteFile(filepath.Join("testdata", "v1", redisGolden), []byte(present.commands(t)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := fill.Replay(t.Context(), store); err != nil {
		t.Errorf("what this version recorded: %v", err)
	}
	released := newKeyspace(t)
	released.load(t)
	before := released.dump(t)
	wantSame(t, before, present.dump(t))
	highest := semel.Fence(0)
	for key, v := range released.values(t) {
		if strings.Contains(key, "{") {
			highest = max(highest, semel.Fence(number(v[:8])))
		}
	}
	old := released.open(t)
	if err := fill.Replay(t.Context(), old); err != nil {
		t.Errorf("what the released version recorded: %v", err)
	}
	if fence := nextFence(t, old); fence <= highest {
		t.Errorf("promise 1: fence %d after %d of the released version", fence, highest)
	}
	released.setState(t, 'f')
	refusesUnknownRecord(t, old)
	for _, s := range []semel.Store{store, old} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// setState gives the unknown record a state of the future.
func (k *keyspace) setState(t *testing.T, letter byte) {
	t.Helper()
	changed := 0
	for key, v := range k.values(t) {
		if strings.Contains(key, "{") && len(v) > 106 && v[32] == 'u' {
			v = v[:32] + string(letter) + v[33:]
			if err := k.client.Do(t.Context(), k.client.B().Set().Key(k.prefix+key).Value(v).Keepttl().Build()).Error(); err != nil {
				t.Fatal(err)
			}
			changed++
		}
	}
	if changed != 1 {
		t.Fatalf("%d unknown records, want 1", changed)
	}
}
