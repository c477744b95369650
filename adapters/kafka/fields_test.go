package kafka_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/testserver"
)

// TestKeys: a record's key and its tombstone reach the handler as another producer wrote them: none is not empty.
func TestKeys(t *testing.T) {
	t.Parallel()
	b := newBroker(t, 1)
	keys, values := [][]byte{nil, {}, {0, 0xff, '\n'}, []byte(strings.Repeat("k", 10_000))}, [][]byte{nil, {}, []byte("Ada")}
	want := map[string]inbox.Message{}
	for _, key := range keys {
		for _, value := range values {
			m := inbox.Message{ID: fmt.Sprint("m", len(want)), Key: key, Body: value}
			want[m.ID] = m
			r := &kgo.Record{Key: key, Value: value, Headers: []kgo.RecordHeader{{Key: "id", Value: []byte(m.ID)}}}
			if err := b.client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := make(chan inbox.Message, len(want))
	b.consume(func(_ context.Context, m inbox.Message) inbox.Verdict {
		got <- inbox.Message{ID: m.ID, Key: bytes.Clone(m.Key), Body: bytes.Clone(m.Body)}
		return inbox.Verdict{Act: inbox.Ack}
	})
	testserver.Eventually(t, "every record arrives", func() bool { return len(got) == len(want) })
	for range want {
		m := <-got
		if diff := cmp.Diff(want[m.ID], m); diff != "" {
			t.Errorf("%s (-want +got):\n%s", m.ID, diff)
		}
	}
}
