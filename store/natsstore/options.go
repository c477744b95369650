package natsstore

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats.go"
)

const (
	defaultStream  = "SEMEL"
	defaultSubject = "semel"
	maxNameBytes   = 64
	nameLetters    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
)

// Sync says what the servers do before they acknowledge a message. A client cannot ask
// them, so the operator says it.
type Sync string

const (
	// SyncAlways says: jetstream { sync_interval: always }, on every server.
	SyncAlways Sync = "always"
	// SyncInterval says: any other setting, the default of two minutes among them. A server
	// that loses its power, or a cluster of which a majority does, forgets what it had
	// acknowledged: those intents may be executed again.
	SyncInterval Sync = "interval"
)

// Options are the settings of [Open] and [New].
type Options struct {
	// Sync must be set, here or in the DSN: see [Sync].
	Sync Sync
	// Stream names the stream: letters, digits, _ and - only. Default: SEMEL.
	Stream string
	// Subject begins the subject of every record, and must not be used by other programs:
	// letters, digits, _ and -, in words with dots between them. Default: semel.
	Subject string
	// Domain names the JetStream domain of the stream. Default: that of the server.
	Domain string
	// Replicas counts the servers that keep a stream that Open makes: 1, 3 or 5. One that
	// exists keeps what it has. Default: 1.
	Replicas int
	// MaxBytes bounds a stream that Open makes; a full one refuses claims. One that
	// exists keeps what it has. Default: 0, the account's limits.
	MaxBytes int64
	// ReadOnly serves Lookup and List only. The other verbs return an error, and nothing
	// is written. Default: false.
	ReadOnly bool
	// Connect are further options of the connection that [Open] makes, such as
	// nats.UserCredentials or nats.Secure.
	Connect []nats.Option
	// Logger gets the warnings of [Store.Check]. Default: none is written.
	Logger *slog.Logger

	clock *testClock // in the place of the server's; tests set it
}

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Stream == "" {
		full.Stream = defaultStream
	}
	if full.Subject == "" {
		full.Subject = defaultSubject
	}
	if full.Replicas == 0 {
		full.Replicas = 1
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case !plain(full.Stream):
		return full, fmt.Errorf("%w: stream %.80q: at most %d letters, digits, _ and - are accepted", errConfig, full.Stream, maxNameBytes)
	case !plainWords(full.Subject):
		return full, fmt.Errorf("%w: subject %.80q: at most %d letters, digits, _ and -, in words with dots between them, are accepted",
			errConfig, full.Subject, maxNameBytes)
	case full.Domain != "" && !plain(full.Domain):
		return full, fmt.Errorf("%w: domain %.80q is not the name of a domain", errConfig, full.Domain)
	case full.Replicas != 1 && full.Replicas != 3 && full.Replicas != 5:
		return full, fmt.Errorf("%w: %d replicas: want 1, 3 or 5 (an even number survives no more lost servers than one fewer does)", errConfig, full.Replicas)
	case full.MaxBytes < 0:
		return full, fmt.Errorf("%w: Options.MaxBytes is negative", errConfig)
	}
	return full, full.checkSync()
}

// checkSync demands an answer to what no server tells (promise 7).
func (o *Options) checkSync() error {
	switch o.Sync {
	case SyncAlways, SyncInterval:
		return nil
	case "":
		if o.ReadOnly {
			return nil
		}
		return fmt.Errorf("%w: nothing says whether the servers sync before they acknowledge, which they do not by default and a client cannot ask: "+
			"set jetstream { sync_interval: always } on every server and sync=always in the DSN (Options.Sync); "+
			"or sync=interval to risk that intents are executed again after a loss of power", errConfig)
	}
	return fmt.Errorf("%w: sync is %.40q, want always or interval", errConfig, string(o.Sync))
}

func plain(name string) bool {
	return name != "" && len(name) <= maxNameBytes && strings.Trim(name, nameLetters) == ""
}

func plainWords(name string) bool {
	for word := range strings.SplitSeq(name, ".") {
		if !plain(word) {
			return false
		}
	}
	return len(name) <= maxNameBytes
}
