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
	must(t, err)
	t.Cleanup(client.Close)
	return &keyspace{client: client, prefix: strings.TrimSuffix(testserver.RedisPrefix(t), ":")}
}

func (k *keyspace) open(t *testing.T) semel.Store {
	t.Helper()
	store, err := redisstore.New(k.client, &redisstore.Options{Prefix: k.prefix})
	must(t, err)
	return store
}

// values returns every key, without the prefix, with its value.
func (k *keyspace) values(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for cursor := uint64(0); ; {
		page, err := k.client.Do(t.Context(), k.client.B().Scan().Cursor(cursor).Match(k.prefix+":*").Count(1000).Build()).AsScanEntry()
		must(t, err)
		for _, key := range page.Elements {
			value, err := k.client.Do(t.Context(), k.client.B().Get().Key(key).Build()).ToString()
			must(t, err)
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
	must(t, err)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		value, err := hex.DecodeString(words[2])
		must(t, err)
		must(t, k.client.Do(t.Context(), k.client.B().Set().Key(k.prefix+words[1]).Value(string(value)).Ex(time.Hour).Build()).Error())
	}
}

// TestRedis: what is in the golden file is replayed, and what this version
// records has its bytes.
func TestRedis(t *testing.T) {
	t.Parallel()
	if updating() {
		k := newKeyspace(t)
		write(t, k, redisGolden, k.commands)
	}
	released := newKeyspace(t)
	released.load(t)
	bothWays(t, released, newKeyspace(t))
}

func (k *keyspace) highest(t *testing.T) (highest semel.Fence) {
	t.Helper()
	for key, v := range k.values(t) {
		if strings.Contains(key, "{") {
			highest = max(highest, semel.Fence(number(v[:8])))
		}
	}
	return highest
}

func (k *keyspace) freeze(t *testing.T) {
	t.Helper()
	changed := 0
	for key, v := range k.values(t) {
		if strings.Contains(key, "{") && len(v) > 106 && v[32] == 'u' {
			v = v[:32] + "f" + v[33:]
			must(t, k.client.Do(t.Context(), k.client.B().Set().Key(k.prefix+key).Value(v).Keepttl().Build()).Error())
			changed++
		}
	}
	if changed != 1 {
		t.Fatalf("%d unknown records, want 1", changed)
	}
}
