package drivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/memstore"
)

// caseHeader names the case that a message belongs to.
const caseHeader = "Case"

// foreign are messages of other producers, by their case.
func foreign() map[string]inbox.Message {
	long, header := strings.Repeat("k", 10_000), func(name, value string) map[string]string { return map[string]string{name: value} }
	all := map[string]inbox.Message{
		"plain":           {ID: "plain", Key: []byte("customer-17"), Body: []byte("Ada")},
		"no key":          {ID: "no key", Body: []byte("Ada")},
		"empty key":       {ID: "empty key", Key: []byte{}, Body: []byte("Ada")},
		"binary key":      {ID: "binary key", Key: []byte{0, 0xff, '\n', 1}, Body: []byte("Ada")},
		"long key":        {ID: "long key", Key: []byte(long), Body: []byte("Ada")},
		"tombstone":       {ID: "tombstone", Key: []byte("customer-17")},
		"empty body":      {ID: "empty body", Key: []byte("customer-17"), Body: []byte{}},
		"binary body":     {ID: "binary body", Body: []byte{0, 0xff, '\r', '\n'}},
		"large body":      {ID: "large body", Body: bytes.Repeat([]byte("x"), 990_000)},
		"too large":       {ID: "too large", Key: []byte("customer-17"), Body: bytes.Repeat([]byte("x"), 1_200_000)},
		"empty header":    {ID: "empty header", Header: header("Empty", "")},
		"header in bytes": {ID: "header in bytes", Header: header("Bytes", "\xff\xfe")},
		"header in lines": {ID: "header in lines", Header: header("Lines", "a\r\nCase: other")},
		"header in space": {ID: "header in space", Header: header("Space", " a ")},
		"case of names":   {ID: "case of names", Header: map[string]string{"x-TRACE": "1", "X-Trace": "2"}},
		"several values":  {ID: "several values", Header: header("Via", "a"), Repeated: map[string][]string{"Via": {"a", "", "a", "ä"}}},
		"several, binary": {ID: "several, binary", Header: header("Via", "a"), Repeated: map[string][]string{"Via": {"a", "\xff"}}},
		"composed ID":     {ID: "caf\u00e9"},
		"decomposed ID":   {ID: "cafe\u0301"},
		"long ID":         {ID: strings.Repeat("i", 10_000), Key: []byte("customer-17")},
		"ID with a NUL":   {ID: "a\x00b", Key: []byte("customer-17")},
		"binary ID":       {ID: "\xff", Key: []byte("customer-17")},
		"no ID":           {Key: []byte("customer-17"), Body: []byte("Ada")},
	}
	for name, m := range all {
		m.Header = maps.Clone(m.Header)
		if m.Header == nil {
			m.Header = map[string]string{}
		}
		m.Header[caseHeader] = name
		all[name] = m
	}
	return all
}

// seen holds the messages that a handler got, by their case.
type seen struct {
	sync.Mutex // guards the field below

	all map[string][]inbox.Message
}

func (s *seen) add(m inbox.Message) {
	m.Key, m.Body = bytes.Clone(m.Key), bytes.Clone(m.Body)
	s.Lock()
	defer s.Unlock()
	s.all[m.Header[caseHeader]] = append(s.all[m.Header[caseHeader]], m)
}

func (s *seen) count() int {
	s.Lock()
	defer s.Unlock()
	return len(s.all)
}

// fields sends messages whose handler refuses them at first, and releases them from quarantine.
func fields(b *bench) {
	first, second := &seen{all: map[string][]inbox.Message{}}, &seen{all: map[string][]inbox.Message{}}
	stop := b.consumeFrom(b.direct, 2, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return b.inbox.Handle(ctx, m, func(_ context.Context, m inbox.Message) error {
			first.add(m)
			return semel.MarkFinal(errors.New("not yet"))
		})
	})
	cases := foreign()
	for name, m := range cases {
		if err := b.driver.Foreign(b.Context(), b.direct, b.topic, m); err != nil {
			b.Logf("%s cannot be sent: %v", name, err)
			delete(cases, name)
		}
	}
	b.wantCopies(len(cases))
	b.finish(stop)
	guard, copies := b.guard, map[string]inbox.Message{}
	_, err := inbox.List(b.Context(), guard, consumerName, operator.Search{}, func(h *inbox.Held) error {
		copies[h.Message.Header[caseHeader]] = h.Message
		_, err := inbox.Release(b.Context(), guard, operator.Identity{Name: "Grace", Via: "test"}, h.Digest, "a test")
		return err
	})
	b.must(err)
	ctx, end := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- b.inbox.Released(ctx, time.Millisecond, func(ctx context.Context, m inbox.Message) inbox.Verdict {
			return b.inbox.Handle(ctx, m, func(_ context.Context, m inbox.Message) error { second.add(m); return nil })
		})
	}()
	testserver.Eventually(b, "every message is handled after its release", func() bool { return second.count() == len(cases) })
	end()
	b.must(<-ended)
	for name, m := range cases {
		b.wantArrived(name, m, copies[name])
		if again := second.all[name]; len(again) != 1 || cmp.Diff(copies[name], again[0]) != "" {
			b.Errorf("%s: released as (-in quarantine +handled):\n%s", name, cmp.Diff([]inbox.Message{copies[name]}, again))
		}
		if before := first.all[name]; len(before) > 0 && cmp.Diff(before[:1], []inbox.Message{copies[name]}) != "" {
			b.Errorf("%s: in quarantine as (-handled +copy):\n%s", name, cmp.Diff(before[:1], []inbox.Message{copies[name]}))
		}
	}
}

// wantArrived compares a message with what was sent.
func (b *bench) wantArrived(name string, sent, got inbox.Message) {
	b.Helper()
	if sent.Body == nil && !b.driver.Tombstones {
		sent.Body = []byte{}
	}
	if sent.ID == "" {
		sent.ID = got.ID
	}
	if got.Time.Before(time.Now().Add(-time.Hour)) || got.Time.After(time.Now().Add(time.Hour)) {
		b.Errorf("%s: it was sent at %v", name, got.Time)
	}
	if sent.Subject = b.topic; got.Header != nil {
		got.Header = maps.Clone(got.Header)
		maps.DeleteFunc(got.Header, func(name, _ string) bool {
			_, was := sent.Header[name]
			return !was && (strings.HasPrefix(name, "Semel-") || strings.HasPrefix(name, "Nats-") || slices.Contains([]string{"id", "x-delivery-count"}, name))
		})
	}
	got.Time, got.Deliveries = time.Time{}, 0
	if diff := cmp.Diff(sent, got); diff != "" {
		b.Errorf("%s arrived as (-sent +got):\n%.2000s", name, diff)
	}
}

// invalid returns messages that an outbox refuses.
func invalid() []outbox.Message {
	long := strings.Repeat("x", 10_000)
	return []outbox.Message{
		{ID: long},
		{ID: "a\x00"},
		{ID: "cafe\u0301"},
		{ID: "a", Key: "\xff"},
		{ID: "a", Key: "a\nb"},
		{ID: "a", Key: long},
		{ID: "a", Header: map[string]string{"A": "a\nb"}},
		{ID: "a", Header: map[string]string{"A": "\xff"}},
		{ID: "a", Header: map[string]string{"": "a"}},
	}
}

// published lets a relay and a publisher send what an outbox takes, and what it does not.
func published(b *bench) {
	good := []outbox.Message{
		{ID: "plain", Key: "customer-17", Body: []byte("Ada")},
		{ID: "no key", Body: []byte("Ada")},
		{ID: "tombstone", Key: "customer-17"},
		{ID: "tombstone with headers", Key: "customer-17", Header: map[string]string{"A": "b"}},
		{ID: "empty body", Key: "customer-17", Body: []byte{}},
		{ID: "binary body", Body: []byte{0, 0xff}},
		{ID: "headers", Header: map[string]string{"Empty": "", "x-TRACE": "1", "X-Trace": "ä"}},
		{ID: "key of words", Key: "Zoë Müller & Söhne", Body: []byte{}},
	}
	arrived := &seen{all: map[string][]inbox.Message{}}
	stop := b.consume(1, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return b.inbox.Handle(ctx, m, func(_ context.Context, m inbox.Message) error { arrived.add(m); return nil })
	})
	db, out, err := openOutbox(b.Context(), b.TempDir()+"/outbox.db")
	b.must(err)
	add := func(m outbox.Message) error {
		tx, err := db.BeginTx(b.Context(), nil)
		b.must(err)
		if err := out.Add(b.Context(), tx, m); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
	for i := range good {
		good[i].Topic, good[i].Header = b.topic, maps.Clone(good[i].Header)
		if good[i].Header == nil {
			good[i].Header = map[string]string{}
		}
		good[i].Header[caseHeader] = good[i].ID
		b.must(add(good[i]))
	}
	for _, m := range invalid() {
		if m.Topic = b.topic; !errors.Is(add(m), outbox.ErrInvalid) {
			b.Errorf("an outbox takes %.100v", m)
		}
		b.refusedOrExact(m)
	}
	b.refusedOrExact(outbox.Message{ID: " padded ", Key: "k", Topic: b.topic})
	b.refusedOrExact(outbox.Message{ID: "padded key", Key: " k ", Topic: b.topic})
	b.refusedOrExact(outbox.Message{ID: "padded header", Topic: b.topic, Header: map[string]string{"A": " a "}})
	guard, err := semel.New(memstore.New(nil), nil)
	b.must(err)
	defer func() { b.must(guard.Close()) }()
	relay, err := outbox.NewRelay(out, guard, b.publisher, nil)
	b.must(err)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	testserver.Eventually(b, "every message of the outbox arrives", func() bool {
		arrived.Lock()
		defer arrived.Unlock()
		return !slices.ContainsFunc(good, func(m outbox.Message) bool { return len(arrived.all[m.ID]) == 0 })
	})
	cancel()
	b.must(errors.Join(<-ended, db.Close()))
	b.finish(stop)
	for _, m := range good {
		b.wantArrived(m.ID, sentBy(&m), arrived.all[m.ID][0])
	}
	for name, all := range arrived.all {
		if extra, was := b.exact[name]; was {
			b.wantArrived(name, sentBy(&extra), all[0])
		}
	}
}

// sentBy is a message of an outbox as it arrives.
func sentBy(m *outbox.Message) inbox.Message {
	in := inbox.Message{ID: m.ID, Body: m.Body, Header: m.Header}
	if m.Key != "" {
		in.Key = []byte(m.Key)
	} else if m.Body == nil { // a tombstone of nothing is an empty body
		in.Body = []byte{}
	}
	return in
}

// refusedOrExact publishes a message without an outbox: the publisher refuses it for good, or it arrives as it is.
func (b *bench) refusedOrExact(m outbox.Message) {
	b.Helper()
	name := fmt.Sprint("published ", len(b.exact))
	if m.Header = maps.Clone(m.Header); m.Header == nil {
		m.Header = map[string]string{}
	}
	m.Header[caseHeader] = name
	errs := b.try([]outbox.Message{m})
	switch {
	case errs == nil || errs[0] == nil:
		b.exact[name] = m
	case fmt.Sprintf("%T", errs[0]) != fmt.Sprintf("%T", outbox.Permanent(errs[0])):
		b.Errorf("%.100v: got error %v, want one for good", m, errs[0])
	}
}
