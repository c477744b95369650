package rabbitmq

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/wire"
	"github.com/semel-dev/semel/outbox"
)

// KeyHeader holds the key that orders the messages of a [Publisher], when there is one.
const KeyHeader = wire.KeyHeader

const (
	// countHeader is set by quorum queues: how often a message was delivered before.
	countHeader = "x-delivery-count"
	// maxShortBytes bounds names in AMQP.
	maxShortBytes = 255
	// mostDeliveries bounds what a header may claim.
	mostDeliveries = 1 << 30
)

// received returns what a consumer got, as the inbox wants it.
func received(d *amqp.Delivery) inbox.Message {
	m := inbox.Message{ID: d.MessageId, Subject: topic(d.Exchange, d.RoutingKey), Body: d.Body, Time: wire.Time(d.Timestamp), Deliveries: 1}
	m.Header, m.Repeated = headers(d)
	if key, ok := m.Header[KeyHeader]; ok {
		m.Key = []byte(key)
	}
	if m.Body == nil { // RabbitMQ has no message without a body: nil is Kafka's tombstone
		m.Body = []byte{}
	}
	if d.Redelivered {
		m.Deliveries = 2
	}
	if before, ok := d.Headers[countHeader].(int64); ok && before > 0 {
		m.Deliveries = int(min(before, mostDeliveries)) + 1
	}
	return m
}

// headers returns the headers of a message and, under the names that AMQP gives them, its other properties.
func headers(d *amqp.Delivery) (first map[string]string, repeated map[string][]string) {
	all := wire.Values{First: make(map[string]string, len(d.Headers))}
	for name, value := range d.Headers {
		if values, several := value.([]any); several {
			for _, v := range values {
				all.Add(name, text(v))
			}
			continue
		}
		all.Add(name, text(value))
	}
	for name, value := range map[string]string{
		"content-type": d.ContentType, "content-encoding": d.ContentEncoding, "correlation-id": d.CorrelationId, "reply-to": d.ReplyTo,
		"type": d.Type, "app-id": d.AppId, "user-id": d.UserId, "expiration": d.Expiration,
	} {
		if _, taken := all.First[name]; value != "" && !taken {
			all.Add(name, value)
		}
	}
	return all.First, all.Repeated
}

// text returns the value of a header: a table, such as those of x-death, as JSON.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case amqp.Table, []any:
		if b, err := json.Marshal(v); err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(value)
}

// topic is the reverse of address.
func topic(exchange, key string) string {
	if exchange == "" && !strings.Contains(key, "/") {
		return key
	}
	return exchange + "/" + key
}

// address returns where a topic's messages go.
func address(topic string) (exchange, key string) {
	exchange, key, ok := strings.Cut(topic, "/")
	if !ok {
		return "", topic
	}
	return exchange, key
}

// reserved returns the headers that RabbitMQ writes, or that send copies of a message elsewhere.
func reserved() []string {
	return []string{"CC", "BCC", countHeader, "x-death", "x-first-death-*", "x-last-death-*"}
}

// sent returns the message as it is sent, or why it never can be.
func sent(m *outbox.Message) (amqp.Publishing, error) {
	if err := wire.CheckHeader(m.Header, reserved()...); err != nil {
		return amqp.Publishing{}, fmt.Errorf("rabbitmq: %w", err)
	}
	exchange, key := address(m.Topic)
	switch {
	case m.ID == "":
		return amqp.Publishing{}, errors.New("rabbitmq: the message has no ID")
	case len(m.ID) > maxShortBytes:
		return amqp.Publishing{}, fmt.Errorf("rabbitmq: the ID has %d bytes, at most %d are possible", len(m.ID), maxShortBytes)
	case len(exchange) > maxShortBytes || len(key) > maxShortBytes:
		return amqp.Publishing{}, fmt.Errorf("rabbitmq: exchange or routing key of the topic has more than %d bytes", maxShortBytes)
	}
	headers := make(amqp.Table, len(m.Header)+1)
	for name, value := range m.Header {
		if len(name) > maxShortBytes {
			return amqp.Publishing{}, fmt.Errorf("rabbitmq: the name of a header has %d bytes, at most %d are possible", len(name), maxShortBytes)
		}
		headers[name] = value
	}
	if m.Key != "" {
		headers[KeyHeader] = m.Key
	}
	return amqp.Publishing{Headers: headers, MessageId: m.ID, DeliveryMode: amqp.Persistent, Timestamp: time.Now(), Body: m.Body}, nil
}
