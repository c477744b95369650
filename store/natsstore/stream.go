package natsstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// schema is the layout of streams and records that this version writes; the stream
	// says which one it has.
	schema    = 1
	schemaKey = "semel.schema"
	// leastMajor and leastMinor are the first version with all that the store needs.
	leastMajor, leastMinor = 2, 12
	// Errors of JetStream: the stream does not exist; it does, with another configuration.
	codeNoStream = 10059
	codeInUse    = 10058
)

// Check makes the stream when there is none, and returns an error that says what to
// change when the server is too old, has no JetStream for this user, or the stream
// cannot keep the promises. It warns of what is at risk. [Open] calls it.
func (s *Store) Check(ctx context.Context) error {
	if err := s.enter(ctx, "check", verb.Reads); err != nil {
		return err
	}
	defer s.gate.Leave()
	if err := s.checkVersion(); err != nil {
		return err
	}
	info, err := s.info(ctx)
	if refused(err, codeNoStream) && !s.opts.ReadOnly {
		info, err = s.create(ctx)
	}
	if err != nil {
		return s.translate("check", err)
	}
	if err := s.watch(ctx, info); err != nil || s.opts.ReadOnly {
		return err
	}
	if err := s.probe(ctx); err != nil {
		return s.translate("check", err)
	}
	if s.opts.Sync == SyncInterval {
		s.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the servers acknowledge before they sync, so a loss of power makes intents execute again",
			slog.String("stream", s.opts.Stream), slog.String("change", "set sync_interval: always on every server"))
	}
	return nil
}

// checkVersion refuses a server without per-message TTLs on conditional writes, without
// batches and without its clock.
func (s *Store) checkVersion() error {
	version := s.link.nc.ConnectedServerVersion()
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err1 != nil || err2 != nil || a < leastMajor || a == leastMajor && b < leastMinor {
		return fmt.Errorf("%w: the server's version is %q, and records need %d.%d: upgrade every server of the cluster", errUnfit, version, leastMajor, leastMinor)
	}
	return nil
}

// streamInfo is the part of JetStream's answer about a stream that matters.
type streamInfo struct {
	Error  *apiError       `json:"error"`
	Config json.RawMessage `json:"config"`
	TS     time.Time       `json:"ts"`
}

// settings are those of the stream as they were seen last, and what is wrong with them.
type settings struct {
	config []byte
	unfit  error
}

// Health implements [semel.Monitor]: every verb looks at the stream's settings.
func (s *Store) Health() error {
	if seen := s.seen.Load(); seen != nil {
		return seen.unfit
	}
	return nil
}

// watch returns what of the stream's settings breaks a promise, and logs it when that has
// changed.
func (s *Store) watch(ctx context.Context, info *streamInfo) error {
	before := s.seen.Load()
	if before != nil && bytes.Equal(before.config, info.Config) {
		return before.unfit
	}
	now := &settings{config: info.Config, unfit: s.fit(info)}
	s.seen.Store(now)
	if before == nil {
		return now.unfit // which Check returns to the caller
	}
	switch {
	case now.unfit != nil:
		s.opts.Logger.LogAttrs(ctx, slog.LevelError, "the stream breaks a promise of the store", slog.String("error", now.unfit.Error()))
	case before.unfit != nil:
		s.opts.Logger.LogAttrs(ctx, slog.LevelInfo, "the stream keeps the promises of the store again")
	}
	return now.unfit
}

// probe finds out whether the user may do what verbs do: it publishes a message that
// cannot be stored, and listens for news.
func (s *Store) probe(ctx context.Context) error {
	var none semel.Digest
	w := write{subject: s.subject(&none), expected: math.MaxInt64, ttl: s.ttl(0)}
	if _, err := s.link.publish(ctx, s.opts.Stream, &w); !overtaken(err) {
		if err == nil {
			return fmt.Errorf("%w: the stream stored a message against its condition", errUnfit)
		}
		return err
	}
	sub, err := s.link.nc.SubscribeSync(s.newsOf(&none))
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // a connection that broke has none
	if err := s.flush(ctx); err != nil {
		return err
	}
	if err := s.link.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), sub.Subject) {
		return err
	}
	return nil
}

func (s *Store) info(ctx context.Context) (*streamInfo, error) {
	var info streamInfo
	err := s.link.ask(ctx, "STREAM.INFO."+s.opts.Stream, nil, &info, &info.Error)
	return &info, err
}

// config is the stream as the store needs it.
func (s *Store) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               s.opts.Stream,
		Description:        "Records of Semel: one message for each intent",
		Subjects:           []string{s.opts.Subject + ".*"},
		Storage:            jetstream.FileStorage,
		Replicas:           s.opts.Replicas,
		MaxMsgsPerSubject:  1,
		MaxMsgs:            -1,
		MaxConsumers:       -1,
		MaxMsgSize:         -1,
		MaxBytes:           cmp.Or(s.opts.MaxBytes, -1),
		Discard:            jetstream.DiscardNew,
		AllowMsgTTL:        true,
		AllowAtomicPublish: true,
		AllowDirect:        true,
		DenyDelete:         true, // nothing removes a record but its time
		DenyPurge:          true,
		RePublish:          s.news(),
		Metadata:           map[string]string{schemaKey: strconv.Itoa(schema)},
		// Fences go on above those of a stream that was deleted.
		FirstSeq: uint64(time.Now().UnixMicro()),
	}
}

// create makes the stream. Another process may make the same one meanwhile.
func (s *Store) create(ctx context.Context) (*streamInfo, error) {
	body, err := json.Marshal(s.config())
	if err != nil {
		return nil, err
	}
	var info streamInfo
	err = s.link.ask(ctx, "STREAM.CREATE."+s.opts.Stream, body, &info, &info.Error)
	if refused(err, codeInUse) {
		return s.info(ctx)
	}
	return &info, err
}

// fit says what of the stream breaks a promise.
func (s *Store) fit(info *streamInfo) error {
	var c jetstream.StreamConfig
	if err := json.Unmarshal(info.Config, &c); err != nil {
		return fmt.Errorf("%w: the stream's settings cannot be read: %w", errUnfit, err)
	}
	version, err := strconv.Atoi(c.Metadata[schemaKey])
	switch {
	case err != nil:
		return fmt.Errorf("%w: stream %s was not made by Semel: choose another name by stream=, or delete it", errUnfit, c.Name)
	case version > schema:
		return fmt.Errorf("%w: stream %s has schema %d and this version knows %d: upgrade this program", errUnfit, c.Name, version, schema)
	case info.TS.IsZero():
		return fmt.Errorf("%w: the server does not tell its time: upgrade every server of the cluster", errUnfit)
	}
	want := s.config()
	for _, f := range []struct {
		name      string
		fits      bool
		got, must any
	}{
		{"subjects", slices.Equal(c.Subjects, want.Subjects), c.Subjects, want.Subjects},
		{"storage", c.Storage == want.Storage, c.Storage, want.Storage},
		{"retention", c.Retention == jetstream.LimitsPolicy, c.Retention, jetstream.LimitsPolicy},
		{"max_msgs_per_subject", c.MaxMsgsPerSubject == 1, c.MaxMsgsPerSubject, 1},
		{"discard", c.Discard == want.Discard, c.Discard, want.Discard},
		{"discard_new_per_subject", !c.DiscardNewPerSubject, c.DiscardNewPerSubject, false},
		{"max_age", c.MaxAge == 0, c.MaxAge, "0, for each record has its own"},
		{"allow_msg_ttl", c.AllowMsgTTL, c.AllowMsgTTL, true},
		{"allow_atomic", c.AllowAtomicPublish, c.AllowAtomicPublish, true},
		{"allow_direct", c.AllowDirect, c.AllowDirect, true},
		{"deny_delete", c.DenyDelete, c.DenyDelete, true},
		{"deny_purge", c.DenyPurge, c.DenyPurge, true},
		{"no_ack", !c.NoAck, c.NoAck, false},
		{"sealed", !c.Sealed, c.Sealed, false},
		{"mirror", c.Mirror == nil, c.Mirror, "none"},
		{"sources", len(c.Sources) == 0, len(c.Sources), "none"},
		{"subject_transform", c.SubjectTransform == nil, c.SubjectTransform, "none"},
		{"republish", c.RePublish != nil && *c.RePublish == *want.RePublish, c.RePublish, *want.RePublish},
	} {
		if !f.fits {
			return fmt.Errorf("%w: stream %s has %s %v, and records need %v: change it with nats stream edit, or let Open make the stream", errUnfit, c.Name, f.name, f.got, f.must)
		}
	}
	return nil
}
