package natsstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/natsstore"
)

// wantRefused fails the test unless Open refuses in these words.
func wantRefused(t *testing.T, dsn string, o *natsstore.Options, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := natsstore.Open(ctx, dsn, o)
	if err == nil {
		claimtest.NoError(t, s.Close())
	}
	claimtest.Words(t, err, words...)
}

func open(t *testing.T, dsn string, o *natsstore.Options) *natsstore.Store {
	t.Helper()
	s, err := natsstore.Open(t.Context(), dsn, o)
	claimtest.NoError(t, err)
	claimtest.Closes(t, s)
	return s
}

func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	for dsn, words := range map[string]string{
		"nats://u:s3cr3t@host":                           "sync_interval: always",
		"nats://u:s3cr3t@host?sync=never":                `sync is "never"`,
		"nats://u:s3cr3t@host?sync=always&stream=a.b":    "stream",
		"nats://u:s3cr3t@host?sync=always&subject=a..b":  "subject",
		"nats://u:s3cr3t@host?sync=always&subject=a.*":   "subject",
		"nats://u:s3cr3t@host?sync=always&domain=a.b":    "domain",
		"nats://u:s3cr3t@host?sync=always&replicas=9":    "replicas",
		"nats://u:s3cr3t@host?sync=always&replicas=4":    "want 1, 3 or 5",
		"nats://u:s3cr3t@host?sync=always&replicas=x":    "not a number",
		"nats://u:s3cr3t@host?sync=always&max_bytes=-1":  "MaxBytes",
		"nats://u:s3cr3t@host?sync=always&colour=red":    "unknown parameter",
		"nats://u:s3cr3t@host?sync=always&sync=interval": "twice",
		"nats://u:s3cr3t@host/db?sync=always":            "not a host",
		"nats://u:s3cr3t@:4222?sync=always":              "not a host",
		"nats://u:s3cr3t@ho st":                          "not a URL",
		"nats://u:s3cr3t@host:99999?sync=always":         "not a host",
		"nats://u:s3cr3t@h1:4222,h2:4222?sync=always":    "one host",
		"nats://host?sync=always&addr=u:s3cr3t@h2:4222":  "addr",
		"nats://host?sync=always&addr=u:s3cr3t@h2":       "addr",
		"nats://host?sync=always&addr=nats://s3cr3t@h2":  "addr",
		"nats://host?sync=always&addr=":                  "addr",
		"http://u:s3cr3t@host":                           "neither nats:// nor tls://",
	} {
		s, err := natsstore.Open(t.Context(), dsn, nil)
		if err == nil {
			claimtest.NoError(t, s.Close())
		}
		if wrong := (interface{ Misconfigured() })(nil); !errors.As(err, &wrong) {
			t.Errorf("%s: got %v, want an error with Misconfigured", dsn, err)
		}
		claimtest.Words(t, err, words)
	}
}

// Debian's server is too old, and the error says so.
func TestOldServer(t *testing.T) {
	t.Parallel()
	server := testserver.StartNATS(t, nil)
	wantRefused(t, placeAt(server.Addr()).dsn(), nil, "the server's version is", "2.12", "upgrade")
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"127.0.0.1:1", "255.255.255.255:4222"} {
		wantRefused(t, "nats://u:s3cr3t@"+at+"?sync=always", nil, "does a NATS server listen there?", at)
	}
}

// accounts has users who may do everything, nothing with JetStream, look but not write,
// write but not listen, and one whose account is small, and whose password is a word of the
// server's error.
const accounts = `
max_payload: 8MB
no_auth_user: app
accounts {
  A { jetstream: enabled, users: [
    { user: app, password: sesame }
    { user: reader, password: sesame, permissions: { publish: { deny: ["s1.*"] } } }
    { user: deaf, password: sesame, permissions: { subscribe: { deny: ["s1_news.*"] } } }
    { user: stranger, password: sesame, permissions: { publish: ["s1.*"] } }
  ] }
  B { users: [{ user: plain, password: sesame }] }
  C { jetstream: { max_mem: 0, max_file: 100KB }, users: [{ user: small, password: limits }] }
}`

func TestAccounts(t *testing.T) {
	t.Parallel()
	o := serverOptions
	o.Conf = accounts
	addr := testserver.StartNATS(t, &o).Addr()
	as := func(user string) string { return "nats://" + user + "@" + addr + "?sync=always&stream=S1&subject=s1" }
	s := open(t, as("app:sesame"), nil)
	claimtest.Settles(t, s, claimtest.Wins(t, s, claimtest.Params("k")), claimtest.Completed("answer"))
	for user, words := range map[string][]string{
		"app:s3cr3t":      {"Authorization Violation", "check user and password"},
		"plain:sesame":    {"JetStream"},
		"reader:sesame":   {"permissions violation", "grant this user"},
		"deaf:sesame":     {"permissions violation", "grant this user"},
		"stranger:sesame": {"permissions violation", "grant this user"},
	} {
		wantRefused(t, as(user), nil, words...)
	}
	reads := open(t, as("reader:sesame"), &natsstore.Options{ReadOnly: true})
	claimtest.WantFound(t, reads, claimtest.Params("k").Digest, semel.StateCompleted)
	if _, _, err := reads.Claim(t.Context(), claimtest.Params("k")); err == nil {
		t.Error("a read-only store claimed")
	}
	wantFull(t, open(t, as("small:limits"), nil))
}

// A login that a server refuses for a while ends nothing.
func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	claimtest.NoError(t, errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755))) // the server runs as another user
	file := filepath.Join(dir, "accounts.conf")
	accept := func(password string) {
		text := "no_auth_user: any\naccounts { A { jetstream: enabled, users: [{ user: any, password: any }, { user: app, password: " + password + " }] } }"
		claimtest.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	accept("sesame")
	o := serverOptions
	o.Conf = "include " + strconv.Quote(strings.Repeat("../", 16)+file)
	server := testserver.StartNATS(t, &o)
	restart := func() {
		server.Kill()
		server.Start()
	}
	s := open(t, "nats://app:sesame@"+server.Addr()+"?sync=always&stream=S1&subject=s1", nil)
	claimtest.Settles(t, s, claimtest.Wins(t, s, claimtest.Params("k")), claimtest.Completed("answer"))
	accept("another")
	restart()
	testserver.Eventually(t, "the login is refused more than once", func() bool { return strings.Count(server.Log(), "authentication error") > 2 })
	accept("sesame")
	restart()
	testserver.Eventually(t, "the store works again", func() bool {
		rec, err := s.Lookup(t.Context(), claimtest.Params("k").Digest)
		return err == nil && rec.State == semel.StateCompleted
	})
}

// wantFull fills a store, and fails the test unless it then refuses claims, and settles
// what is held without an answer.
func wantFull(t *testing.T, s *natsstore.Store) {
	t.Helper()
	held := claimtest.Wins(t, s, claimtest.Params("held"))
	other := claimtest.Wins(t, s, claimtest.Params("other"))
	const most = 10_000
	for i := range most {
		_, _, err := s.Claim(t.Context(), claimtest.Params(fmt.Sprint("filler ", i)))
		if err != nil {
			claimtest.WantErr(t, "a claim in a full store: ", err, semel.ErrFull)
			claimtest.Words(t, err, "max_bytes")
			break
		}
		if i == most-1 {
			t.Fatal("the store never is full")
		}
	}
	err := s.Settle(t.Context(), held.Digest, held.Fence, claimtest.Completed(strings.Repeat("x", 4096)))
	claimtest.WantErr(t, "an outcome that does not fit: ", err, semel.ErrFull)
	claimtest.WantFound(t, s, held.Digest, semel.StateClaimed)
	bare := semel.Settlement{State: semel.StateCompleted, Retention: claimtest.Retention}
	if err := s.Settle(t.Context(), held.Digest, held.Fence, bare); err != nil && !errors.Is(err, semel.ErrFull) {
		t.Error(err)
	}
	if err := s.Settle(t.Context(), other.Digest, other.Fence, semel.Settlement{State: semel.StateReleased}); err != nil && !errors.Is(err, semel.ErrFull) {
		t.Error(err)
	}
}

// Promise 8: a full stream refuses claims and removes nothing; on one server, what is held
// can be settled without an answer.
func TestFullStream(t *testing.T) {
	t.Parallel()
	s := open(t, start(t).dsn()+"&max_bytes=50000", nil)
	wantFull(t, s)
	claimtest.WantFound(t, s, claimtest.Params("held").Digest, semel.StateCompleted)
	claimtest.WantFound(t, s, claimtest.Params("filler 0").Digest, semel.StateClaimed)
	_, err := s.Lookup(t.Context(), claimtest.Params("other").Digest)
	claimtest.WantErr(t, "a released claim: ", err, semel.ErrNotFound)
}

// An outcome beyond the server's max_payload is refused before it is sent.
func TestMaxPayload(t *testing.T) {
	t.Parallel()
	o := serverOptions
	o.Conf = "max_payload: 64KB"
	s := open(t, placeAt(testserver.StartNATS(t, &o).Addr()).dsn(), nil)
	rec := claimtest.Wins(t, s, claimtest.Params("k"))
	err := s.Settle(t.Context(), rec.Digest, rec.Fence, claimtest.Completed(strings.Repeat("x", 64<<10)))
	claimtest.WantErr(t, "", err, semel.ErrFull)
	claimtest.Words(t, err, "max_payload")
	claimtest.Settles(t, s, rec, claimtest.Completed(strings.Repeat("x", 60<<10)))
}

// An outcome beyond the stream's max_msg_size, which an operator may set, is refused as one that never fits.
func TestMaxMessageSize(t *testing.T) {
	t.Parallel()
	addr := startServer(t).Addr()
	s := open(t, "nats://"+addr+"?sync=always&stream=M&subject=m", nil)
	rec := claimtest.Wins(t, s, claimtest.Params("k"))
	_, nc := connect(t, addr)
	c := natsstore.StreamConfig("M", "m")
	c.MaxMsgSize = 4096
	update(t, nc, &c)
	err := s.Settle(t.Context(), rec.Digest, rec.Fence, claimtest.Completed(strings.Repeat("x", 8192)))
	claimtest.WantErr(t, "", err, semel.ErrFull)
	claimtest.Words(t, err, "max_msg_size")
	claimtest.Settles(t, s, rec, claimtest.Completed(strings.Repeat("x", 2048)))
}

// The stream's settings keep the promises: any that breaks a promise is refused, at
// Open and when it is changed later.
func TestWrongStream(t *testing.T) {
	t.Parallel()
	addr := startServer(t).Addr()
	js, nc := connect(t, addr)
	s := open(t, "nats://"+addr+"?sync=always&stream=L&subject=l", nil)
	for i, test := range []struct {
		change func(*jetstream.StreamConfig)
		words  string
	}{
		{func(c *jetstream.StreamConfig) { c.Metadata = nil }, "not made by Semel"},
		{func(c *jetstream.StreamConfig) { c.Metadata = map[string]string{"semel.schema": "2"} }, "upgrade this program"},
		{func(c *jetstream.StreamConfig) { c.Subjects = []string{"else.*"} }, "subjects"},
		{func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, "storage"},
		{func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 }, "max_msgs_per_subject"},
		{func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "discard"},
		{func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "max_age"},
		{func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, "allow_atomic"},
		{func(c *jetstream.StreamConfig) { c.AllowDirect = false }, "allow_direct"},
		{func(c *jetstream.StreamConfig) { c.DenyDelete = false }, "deny_delete"},
		{func(c *jetstream.StreamConfig) { c.RePublish = nil }, "republish"},
		{func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: ">", Destination: "x.>"}
		}, "subject_transform"},
	} {
		name, subject := fmt.Sprint("W", i), fmt.Sprint("w", i)
		c := natsstore.StreamConfig(name, subject)
		test.change(&c)
		_, err := js.CreateStream(t.Context(), c)
		claimtest.NoError(t, err)
		wantRefused(t, "nats://"+addr+"?sync=always&stream="+name+"&subject="+subject, nil, name, test.words)
		claimtest.NoError(t, js.DeleteStream(t.Context(), name))
	}
	c := natsstore.StreamConfig("L", "l")
	c.MaxAge = time.Hour
	update(t, nc, &c)
	_, _, err := s.Claim(t.Context(), claimtest.Params("k"))
	claimtest.Words(t, err, "max_age")
	if !claimtest.Refused(err) {
		t.Errorf("claim: got %v, want it refused for good", err)
	}
	claimtest.Words(t, s.Health(), "max_age")
	c.MaxAge = 0
	update(t, nc, &c)
	claimtest.Wins(t, s, claimtest.Params("k"))
	claimtest.NoError(t, s.Health())
}

func connect(tb testing.TB, addr string) (jetstream.JetStream, *nats.Conn) {
	tb.Helper()
	nc, err := nats.Connect("nats://" + addr)
	claimtest.NoError(tb, err)
	tb.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	claimtest.NoError(tb, err)
	return js, nc
}

// update changes a stream as an operator does.
func update(t *testing.T, nc *nats.Conn, c *jetstream.StreamConfig) {
	t.Helper()
	js, err := jetstream.New(nc)
	claimtest.NoError(t, err)
	stream, err := js.Stream(t.Context(), c.Name)
	claimtest.NoError(t, err)
	c.FirstSeq = stream.CachedInfo().Config.FirstSeq
	_, err = js.UpdateStream(t.Context(), *c)
	claimtest.NoError(t, err)
}

// A record of a newer layout, or a message of another program, is an error that says so,
// and never absent.
func TestForeignMessages(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := open(t, p.dsn(), nil)
	_, nc := connect(t, p.addr)
	d := claimtest.Params("k").Digest
	for _, body := range []string{"", "hello", "2" + strings.Repeat("c", 200), "1" + strings.Repeat("?", 200), "1c" + strings.Repeat("\xFF", 98)} {
		answer, err := nc.Request(natsstore.Subject(s, d), []byte(body), 10*time.Second)
		claimtest.NoError(t, err)
		var stored struct{ Seq uint64 }
		claimtest.NoError(t, json.Unmarshal(answer.Data, &stored))
		if stored.Seq == 0 {
			t.Fatalf("got %s, want a stored message", answer.Data)
		}
		_, _, err = s.Claim(t.Context(), claimtest.Params("k"))
		claimtest.WantErr(t, fmt.Sprintf("claim over %.10q: ", body), err, semel.ErrNewerRecord)
		_, err = s.Lookup(t.Context(), d)
		claimtest.WantErr(t, fmt.Sprintf("lookup of %.10q: ", body), err, semel.ErrNewerRecord)
	}
}

// A stream that was deleted and made again gives greater fences.
func TestFencesOutliveTheStream(t *testing.T) {
	t.Parallel()
	p := start(t)
	dsn := p.dsn()
	before := claimtest.Wins(t, open(t, dsn, nil), claimtest.Params("k"))
	js, _ := connect(t, p.addr)
	claimtest.NoError(t, js.DeleteStream(t.Context(), "S1"))
	after := claimtest.Wins(t, open(t, dsn, nil), claimtest.Params("k"))
	if after.Fence <= before.Fence {
		t.Errorf("got fence %d after %d", after.Fence, before.Fence)
	}
	if _, err := after.Fence.Int64(); err != nil {
		t.Error(err)
	}
}

// A record leaves the server soon after it has expired, and not before; so does what was
// released.
func TestExpiredMessagesLeave(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := open(t, p.dsn(), nil)
	soon := claimtest.Params("soon")
	soon.Lease, soon.Retention = time.Millisecond, time.Millisecond
	first := claimtest.Wins(t, s, soon)
	claimtest.Wins(t, s, claimtest.Params("later"))
	claimtest.Settles(t, s, claimtest.Wins(t, s, claimtest.Params("released")), semel.Settlement{State: semel.StateReleased})
	js, _ := connect(t, p.addr)
	stream, err := js.Stream(t.Context(), "S1")
	claimtest.NoError(t, err)
	testserver.Eventually(t, "expired messages leave", func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.Msgs == 1
	})
	claimtest.WantFound(t, s, claimtest.Params("later").Digest, semel.StateClaimed)
	if again := claimtest.Wins(t, s, soon); again.Fence <= first.Fence || again.Attempt != 1 {
		t.Errorf("got fence %d, attempt %d after %d", again.Fence, again.Attempt, first.Fence)
	}
}

// Another program that answers on the subjects wins no claim for its caller.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := open(t, p.dsn(), nil)
	_, nc := connect(t, p.addr)
	_, err := nc.Subscribe("s1.*", func(m *nats.Msg) { _ = m.Respond([]byte("{}")) })
	claimtest.NoError(t, err)
	claimtest.NoError(t, nc.Flush())
	refused := false
	for i := 0; i < 1000 && !refused; i++ { // the first answer counts
		rec, won, err := s.Claim(t.Context(), claimtest.Params(fmt.Sprint(i)))
		if refused = err != nil; won && rec.Fence == 0 {
			t.Fatal("won without a fence")
		}
		if refused {
			claimtest.Words(t, err, "another program")
		}
	}
	if !refused {
		t.Error("the other program never answered first")
	}
}
