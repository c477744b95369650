package natsjs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/wire"
	"github.com/semel-dev/semel/outbox"
)

// The headers of a message that a [Publisher] sent.
const (
	// IDHeader holds the message's ID.
	IDHeader = wire.IDHeader
	// KeyHeader holds the key that orders messages, when there is one.
	KeyHeader = wire.KeyHeader
)

// commands are the headers by which JetStream is commanded: one of them can purge a stream.
const commands = "Nats-*"

// received returns what a consumer got, as the inbox wants it.
func received(msg jetstream.Msg) (inbox.Message, error) {
	at, err := msg.Metadata()
	if err != nil {
		return inbox.Message{}, err
	}
	header := msg.Headers()
	m := inbox.Message{
		ID: header.Get(IDHeader), Subject: msg.Subject(), Body: msg.Data(), Time: wire.Time(at.Timestamp),
		Deliveries: int(min(at.NumDelivered, 1<<30)),
	}
	if values := header[KeyHeader]; len(values) > 0 {
		m.Key = []byte(values[0])
	}
	if m.Body == nil { // NATS has no message without a body: nil is Kafka's tombstone
		m.Body = []byte{}
	}
	all := wire.Values{First: make(map[string]string, len(header))}
	for name, values := range header {
		for _, value := range values {
			all.Add(name, value)
		}
	}
	m.Header, m.Repeated = all.First, all.Repeated
	if m.ID == "" {
		m.ID = header.Get(jetstream.MsgIDHeader)
	}
	if m.ID == "" {
		m.ID = fmt.Sprintf("%s:%d:%d", at.Stream, at.Sequence.Stream, at.Timestamp.UnixNano())
	}
	return m, nil
}

// sent returns the message as it is sent, or why it never can be.
func sent(m *outbox.Message) (*nats.Msg, error) {
	if err := wire.CheckHeader(m.Header, commands); err != nil {
		return nil, fmt.Errorf("natsjs: %w", err)
	}
	msg := nats.NewMsg(m.Topic)
	msg.Data = m.Body
	for name, value := range m.Header {
		if name == "" || strings.ContainsAny(name, ": \r\n") || !sendable(value) {
			return nil, fmt.Errorf("natsjs: header %q cannot be sent: %s", name, unsendable)
		}
		msg.Header.Set(name, value)
	}
	switch {
	case m.ID == "":
		return nil, errors.New("natsjs: the message has no ID")
	case !sendable(m.ID), !sendable(m.Key):
		return nil, errors.New("natsjs: ID or key of the message cannot be sent in a header: " + unsendable)
	case m.Topic == "" || strings.HasPrefix(m.Topic, "$") || strings.ContainsAny(m.Topic, " \t\r\n*>"): // $JS.API.… commands JetStream
		return nil, fmt.Errorf("natsjs: %q is not a subject to publish to", m.Topic)
	}
	msg.Header.Set(IDHeader, m.ID)
	if m.Key != "" {
		msg.Header.Set(KeyHeader, m.Key)
	}
	msg.Header.Set(jetstream.MsgIDHeader, m.ID+"/"+digest(m))
	return msg, nil
}

// unsendable says what a header of NATS cannot hold. Its client drops the spaces without an error, so that two IDs would become one.
const unsendable = "it holds a line break, or begins or ends with a space (encode it, as in base64)"

func sendable(value string) bool {
	return strings.Trim(value, " \t") == value && !strings.ContainsAny(value, "\r\n")
}

// digest depends on all of a message but its ID.
func digest(m *outbox.Message) string {
	var b []byte
	add := func(part string) {
		b = append(strconv.AppendInt(b, int64(len(part)), 10), ':')
		b = append(b, part...)
	}
	add(m.Topic)
	add(m.Key)
	for _, name := range slices.Sorted(maps.Keys(m.Header)) {
		add(name)
		add(m.Header[name])
	}
	h := sha256.New()
	_, _ = h.Write(append(b, "body:"...)) // a hash takes everything
	_, _ = h.Write(m.Body)
	return hex.EncodeToString(h.Sum(nil)[:8])
}
