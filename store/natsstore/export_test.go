package natsstore

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel"
)

const keep = 20 * 365 * 24 * time.Hour

// WithClock replaces the server's clock by one that only moves when told to.
func WithClock(o Options, now func() time.Time) *Options {
	o.clock = &testClock{from: func(int64) int64 { return now().UnixMilli() }, slack: keep}
	return &o
}

// WithOffset puts the server's clock forward.
func WithOffset(o Options, ahead func() time.Duration) *Options {
	o.clock = &testClock{from: func(server int64) int64 { return server + ahead().Milliseconds() }, slack: keep}
	return &o
}

// Leader names the server that leads the stream.
func Leader(s *Store) (string, error) {
	var answer struct {
		Error   *apiError `json:"error"`
		Cluster struct {
			Leader string `json:"leader"`
		} `json:"cluster"`
	}
	err := s.link.ask(context.Background(), "STREAM.INFO."+s.opts.Stream, nil, &answer, &answer.Error)
	return answer.Cluster.Leader, err
}

// StreamConfig is the stream that Open makes.
func StreamConfig(name, subject string) jetstream.StreamConfig {
	s := Store{opts: Options{Stream: name, Subject: subject, Replicas: 1}}
	return s.config()
}

// Subject is that of the record.
func Subject(s *Store, d semel.Digest) string { return s.subject(&d) }
