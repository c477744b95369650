package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	stream      = "SHOP"
	brokerStart = 10 * time.Second
	ackWait     = time.Second
)

// openBroker is the process of the broker: NATS with JetStream, which writes a
// message to the disk before it acknowledges it.
func openBroker(c *fleetConfig) (*part, error) {
	host, port, err := net.SplitHostPort(c.Broker)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		Host: host, Port: number, JetStream: true, StoreDir: c.Dir, SyncAlways: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(brokerStart) {
		return nil, fmt.Errorf("the broker is not ready within %s: is %s free?", brokerStart, c.Broker)
	}
	return &part{close: func() error { s.Shutdown(); return nil }}, nil
}

// connect connects to the broker, which may come and go, and makes the stream.
func connect(ctx context.Context, c *fleetConfig) (*nats.Conn, jetstream.JetStream, error) {
	conn, err := nats.Connect("nats://"+c.Broker, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(restartPause))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	for {
		if _, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{"shop.>"}}); err == nil {
			return conn, js, nil
		}
		if !pause(ctx, restartPause) {
			conn.Close()
			return nil, nil, errors.Join(err, ctx.Err())
		}
	}
}

// durable makes the consumer of a topic, or finds it.
func durable(ctx context.Context, js jetstream.JetStream, name, topic string) (jetstream.Consumer, error) {
	return js.CreateOrUpdateConsumer(ctx, stream, jetstream.ConsumerConfig{Durable: name, FilterSubject: topic, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait})
}
