package redisstore

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

const (
	defaultPrefix         = "semel"
	defaultReplicaTimeout = time.Second
	maxPrefixBytes        = 64
	prefixLetters         = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:"
)

// Options are the settings of [Open] and [New]. A nil *Options is complete.
type Options struct {
	// Prefix begins every key, so that several stores, and other programs, can
	// share a server: letters, digits and _-.: only. Default: semel.
	Prefix string
	// AllowEviction opens a server that removes keys when its memory is full,
	// or where that is unknown. A claim or an outcome that
	// it removes is forgotten: the intent may be executed twice. Default: such
	// a server is refused.
	AllowEviction bool
	// ReadOnly serves Lookup and List only, from a replica too. The other
	// verbs return an error, and nothing is written. Default: false.
	ReadOnly bool
	// Replicas counts the replicas that must have a claim, a renewal or a
	// settlement before its caller, or one that looks it up, hears of it (the
	// command WAIT); otherwise the verb returns an error that says so. Lists, and
	// stores that are ReadOnly, do not wait. Default: 0, the primary alone.
	Replicas int
	// ReplicaTimeout bounds that wait. Default: 1 s.
	ReplicaTimeout time.Duration
	// TLS is the configuration for rediss DSNs. Default: the system's roots.
	TLS *tls.Config
	// Logger gets the warnings of [Store.Check], and what later checks find
	// ([Store.Health]). Default: none is written.
	Logger *slog.Logger

	watchEvery time.Duration // the pause between checks; tests set it
	clock      *clock        // in the place of the server's; tests set it
}

// clock is another clock than the server's, for tests.
type clock struct {
	lua   string // in the place of now.lua; the last of ARGV is the result of ms
	ms    func() int64
	now   func(server int64) int64 // what the script makes of the server's time
	slack time.Duration            // keys live so much longer by the server's clock
}

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Prefix == "" {
		full.Prefix = defaultPrefix
	}
	if full.ReplicaTimeout == 0 {
		full.ReplicaTimeout = defaultReplicaTimeout
	}
	if full.watchEvery == 0 {
		full.watchEvery = watchEvery
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case len(full.Prefix) > maxPrefixBytes || strings.Trim(full.Prefix, prefixLetters) != "":
		return full, fmt.Errorf("%w: prefix %.80q: at most %d letters, digits and _-.: are accepted", errConfig, full.Prefix, maxPrefixBytes)
	case full.Replicas < 0:
		return full, fmt.Errorf("%w: Options.Replicas is negative", errConfig)
	case full.ReplicaTimeout < time.Millisecond:
		return full, fmt.Errorf("%w: Options.ReplicaTimeout is shorter than a millisecond", errConfig)
	}
	return full, nil
}
