package rabbitmq_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
)

// A message that cannot be published fails alone, even when the broker closes the channel for it; for good when trying again
// cannot help.
func TestRefusedMessages(t *testing.T) {
	t.Parallel()
	addr := testserver.RabbitMQ(t)
	queue := makeQueue(t, addr, nil)
	p := publisher(t, addr)
	long := strings.Repeat("x", 300)
	for name, tt := range map[string]struct {
		message   outbox.Message
		permanent bool
	}{
		"no ID":                {outbox.Message{Topic: queue}, true},
		"a long ID":            {outbox.Message{ID: long, Topic: queue}, true},
		"a long routing key":   {outbox.Message{ID: "1", Topic: long}, true},
		"a long exchange":      {outbox.Message{ID: "1", Topic: long + "/a"}, true},
		"a long header":        {outbox.Message{ID: "1", Topic: queue, Header: map[string]string{long: "1"}}, true},
		"no queue":             {outbox.Message{ID: "1", Topic: "none"}, false},
		"no binding":           {outbox.Message{ID: "1", Topic: "amq.topic/none"}, false},
		"no such exchange":     {outbox.Message{ID: "1", Topic: "none/a"}, false},
		"an internal exchange": {outbox.Message{ID: "1", Topic: "amq.rabbitmq.trace/a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := p.Publish(t.Context(), []outbox.Message{{ID: name + " before", Topic: queue}, tt.message, {ID: name + " after", Topic: queue}})
			if errs == nil || errs[0] != nil || errs[1] == nil || errs[2] != nil {
				t.Fatalf("got errors %v, want one for the second message", errs)
			}
			if got := fmt.Sprintf("%T", errs[1]) == fmt.Sprintf("%T", outbox.Permanent(errs[1])); got != tt.permanent {
				t.Errorf("error %v is permanent: %v, want %v", errs[1], got, tt.permanent)
			}
		})
	}
}

// A publisher that is closed publishes nothing.
func TestClosedPublisher(t *testing.T) {
	t.Parallel()
	addr := testserver.RabbitMQ(t)
	p := publisher(t, addr)
	must(t, p.Close())
	if errs := p.Publish(t.Context(), []outbox.Message{{ID: "1", Topic: makeQueue(t, addr, nil)}}); errs == nil {
		t.Error("no error from a closed publisher")
	}
}
