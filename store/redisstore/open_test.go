package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

const secret = "s3cr3t-p%w"

// Every wrong DSN is refused with what to change, and never with its password.
func TestWrongDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"":                                    "neither redis:// nor rediss://",
		"127.0.0.1:6379":                      "not a URL",
		"http://host/":                        "neither redis:// nor rediss://",
		"redis:semel":                         "names no host",
		"redis://":                            "names no host",
		"redis://:6379":                       "names no host",
		"redis://u:" + secret + "@host:6379":  "not a URL",
		"redis://u:s3cr3t@ho st/":             "not a URL",
		"redis://u:s3cr3t@host/one":           "number of a database",
		"redis://u:s3cr3t@host/-1":            "number of a database",
		"redis://u:s3cr3t@host/0?perfix=x":    `unknown parameter "perfix"`,
		"redis://u:s3cr3t@host/?cluster=yes!": "cluster is",
		"redis://u:s3cr3t@host/?cluster=true&cluster=false":       "says cluster twice",
		"redis://u:s3cr3t@host/3?cluster=true":                    "database 0 only",
		"redis://u:s3cr3t@host?addr=other":                        "add cluster=true",
		"redis://u:s3cr3t@host?prefix=a{b}":                       "letters, digits",
		"redis://u:s3cr3t@host?prefix=" + strings.Repeat("a", 65): "at most 64",
		"redis://u:s3cr3t@host?prefix=a*":                         "letters, digits",
		"redis://u:s3cr3t@host?replicas=-1":                       "negative",
		"redis://u:s3cr3t@host?replicas=one":                      "replicas is",
		"redis://u:s3cr3t@host?replica_timeout=1":                 "replica_timeout is",
		"redis://u:s3cr3t@host?allow_eviction=perhaps":            "allow_eviction is",
		"redis://u:s3cr3t@host?%zz":                               "cannot be read",
	} {
		t.Run(dsn, func(t *testing.T) {
			t.Parallel()
			refused(t, dsn, nil, want)
		})
	}
}

// refused opens what cannot be opened, and looks at what the error says.
func refused(t *testing.T, dsn string, o *redisstore.Options, wants ...string) {
	t.Helper()
	s, err := redisstore.Open(t.Context(), dsn, o)
	if err == nil {
		t.Fatalf("%s was opened: %v", dsn, s.Close())
	}
	wantWords(t, err, wants...)
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err)
	addr := listener.Addr().String()
	noError(t, listener.Close())
	refused(t, "redis://u:s3cr3t@"+addr, nil, "connect to "+addr, "connection refused")
	refused(t, "redis://u:s3cr3t@"+addr+"?cluster=true", nil, "connect to "+addr, "connection refused")
}

// A server that accepts and never answers does not hold Open up for longer
// than its context allows.
func TestDeafServer(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err)
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if s, err := redisstore.Open(ctx, "redis://"+listener.Addr().String(), nil); err == nil {
		t.Errorf("it was opened: %v", s.Close())
	}
}

func TestContextEndedBeforeOpen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := redisstore.Open(ctx, single.dsn(t), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// Users, passwords and what a user may do.
func TestPermissions(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, nil)
	admin := rawClient(t, server.Addr())
	user := func(name string, rules ...string) string {
		t.Helper()
		words := append([]string{"ACL", "SETUSER", name, "on", ">" + secret}, rules...)
		noError(t, admin.do(words...).Error())
		return "redis://" + name + ":s3cr3t-p%25w@" + server.Addr()
	}
	all := []string{
		"~semel:*", "&semel:settled", "+info", "+ping", "+evalsha", "+eval", "+time", "+get", "+set", "+incr", "+del", "+setrange",
		"+scan", "+getrange", "+publish", "+subscribe", "+unsubscribe", "+client|setname", "+hello",
	}

	refused(t, "redis://nobody:s3cr3t@"+server.Addr(), nil, "WRONGPASS", "disabled. (check user and password")
	refused(t, user("nothing"), nil, "may not ask INFO", "+info")
	refused(t, user("noscripts", "~semel:*", "+info", "+ping"), nil, "NOPERM", "grant it")
	refused(t, user("nokeys", "~other:*", "+@all"), nil, "grant it")
	refused(t, user("noinfo", append(all, "-info")...), nil, "may not ask INFO", "+info")

	// What the package documentation names is enough.
	s := open(t, user("enough", all...), nil)
	rec := wins(t, s, params("k"))
	done := await(t, s, rec.Digest, admin.marked(s, rec.Digest))
	noError(t, s.Renew(t.Context(), rec.Digest, rec.Fence, lease))
	settles(t, s, rec, completed("answer"))
	noError(t, <-done)
	settles(t, s, wins(t, s, params("l")), semel.Settlement{State: semel.StateReleased})
	if page, err := s.List(t.Context(), semel.ListParams{Outcomes: true}); err != nil || len(page.Records) != 1 {
		t.Errorf("got %d records, error %v, want 1", len(page.Records), err)
	}

	// Without the channel everything works but Await, and who waits polls.
	s = open(t, user("nochannel", append(all, "resetchannels")...), nil)
	rec = wins(t, s, params("m"))
	wantWords(t, s.Await(t.Context(), rec.Digest), "grant it")
	// A settlement must not fail because another caller waits for it.
	done = await(t, open(t, user("enough"), nil), rec.Digest, admin.marked(s, rec.Digest))
	settles(t, s, rec, completed("answer"))
	noError(t, admin.do("PUBLISH", redisstore.Channel(s), redisstore.Key(s, rec.Digest)).Error())
	noError(t, <-done)

	noError(t, admin.do("ACL", "SETUSER", "default", "resetpass", ">other").Error())
	refused(t, "redis://"+server.Addr(), nil, "NOAUTH", "wants a password")
}

// Servers that do not know a command repeat its arguments.
func TestServerThatRepeatsThePassword(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, &testserver.RedisOptions{Conf: map[string]string{
		"rename-command": "HELLO \"\"\nrename-command AUTH \"\"",
	}})
	refused(t, "redis://u:s3cr3t@"+server.Addr(), nil, "unknown command", "…")
}

func TestWrongDatabase(t *testing.T) {
	t.Parallel()
	refused(t, "redis://"+testserver.Redis(t)+"/4711", nil, "no database of this number")
}

func TestClusterOrNot(t *testing.T) {
	t.Parallel()
	refused(t, "redis://"+testserver.RedisCluster(t)[0], nil, "add cluster=true")
	refused(t, "redis://"+testserver.Redis(t)+"?cluster=true", nil, "remove cluster=true")
	refused(t, "redis://"+testserver.Redis(t)+"?cluster=true&addr="+testserver.RedisCluster(t)[0]+"x", nil)
	// Any node is a door to all of them.
	addrs := testserver.RedisCluster(t)
	prefix := testserver.RedisPrefix(t, addrs...)
	rec := wins(t, open(t, "redis://"+addrs[1]+"?cluster=true&addr="+addrs[2]+"&prefix="+prefix, nil), params("k"))
	found, err := open(t, "redis://"+addrs[0]+"?cluster=true&prefix="+prefix, nil).Lookup(t.Context(), rec.Digest)
	if err != nil || found.Fence != rec.Fence {
		t.Errorf("got fence %d, error %v, want %d", found.Fence, err, rec.Fence)
	}
}

// Promises 1 and 2: a server that may remove records is refused, unless it is
// asked for, and then it is logged as a warning.
func TestEviction(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			server := testserver.StartRedis(t, &testserver.RedisOptions{
				AppendOnly: true, MaxMemoryPolicy: policy, Conf: map[string]string{"maxmemory": "64mb"},
			})
			dsn := "redis://" + server.Addr()
			refused(t, dsn, nil, "maxmemory-policy is "+policy, "CONFIG SET maxmemory-policy noeviction")
			log, o := logged()
			open(t, dsn+"?allow_eviction=true", o)
			if !strings.Contains(log.String(), "a full server removes records") {
				t.Errorf("got log %q, want a warning", log)
			}
			command(t, server.Addr(), "CONFIG", "SET", "maxmemory", "0")
			log, o = logged()
			open(t, dsn, o)
			if !strings.Contains(log.String(), "as soon as it is given a maxmemory") {
				t.Errorf("got log %q, want a warning", log)
			}
			command(t, server.Addr(), "CONFIG", "SET", "maxmemory", "64mb")
			command(t, server.Addr(), "CONFIG", "SET", "maxmemory-policy", "noeviction")
			log, o = logged()
			open(t, dsn, o)
			if log.Len() != 0 {
				t.Errorf("got log %q, want none: nothing is at risk", log)
			}
		})
	}
}

// logged is a log that can be read, and options with it.
func logged() (*bytes.Buffer, *redisstore.Options) {
	var b bytes.Buffer
	return &b, &redisstore.Options{Logger: slog.New(slog.NewTextHandler(&b, nil))}
}

// Promise 7: what a crash would lose is reported when the store is opened.
func TestPersistenceWarnings(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, nil)
	for _, test := range []struct{ set, want string }{
		{"appendonly no", "loses everything: intents that were answered may be executed again"},
		{"save 3600_1", "everything since the last snapshot"},
		{"appendonly yes", ""},
		{"appendfsync everysec", "with appendfsync everysec a crash of the host loses"},
		{"appendfsync no", "with appendfsync no a crash of the host loses"},
	} {
		name, value, _ := strings.Cut(test.set, " ")
		command(t, server.Addr(), "CONFIG", "SET", name, strings.ReplaceAll(value, "_", " "))
		log, o := logged()
		open(t, "redis://"+server.Addr(), o)
		if !strings.Contains(log.String(), test.want) || (test.want == "") != (log.Len() == 0) {
			t.Errorf("%s: got log %q, want %q", test.set, log, test.want)
		}
	}
	admin := rawClient(t, server.Addr())
	noError(t, admin.do("ACL", "SETUSER", "u", "on", "nopass", "~*", "&*", "+@all", "-config").Error())
	log, o := logged()
	open(t, "redis://u:x@"+server.Addr(), o)
	if !strings.Contains(log.String(), "which the server does not tell") {
		t.Errorf("got log %q, want a warning that it is not known", log)
	}
}

// Every node of a cluster is looked at.
func TestWarningsOfACluster(t *testing.T) {
	t.Parallel()
	log, o := logged()
	addrs := testserver.RedisCluster(t)
	o.AllowEviction = true
	open(t, cluster.dsn(t), o)
	for _, addr := range addrs {
		if !strings.Contains(log.String(), addr) {
			t.Errorf("got log %q, want a word about %s", log, addr)
		}
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	dsn := single.dsn(t)
	s := open(t, dsn, nil)
	rec := wins(t, s, params("k"))
	r := open(t, dsn, &redisstore.Options{ReadOnly: true})
	if found, err := r.Lookup(t.Context(), rec.Digest); err != nil || found.Fence != rec.Fence {
		t.Errorf("got fence %d, error %v, want %d", found.Fence, err, rec.Fence)
	}
	lists(t, r, 1)
	_, _, claimErr := r.Claim(t.Context(), params("l"))
	_, _, claimsErr := r.Batch(t.Context(), []semel.ClaimParams{params("l")}, nil)
	_, _, settlesErr := r.Batch(t.Context(), nil, []semel.SettleParams{{Digest: rec.Digest, Fence: rec.Fence, Settlement: completed("x")}})
	for verb, err := range map[string]error{
		"claim": claimErr, "claims": claimsErr, "settles": settlesErr,
		"renew":  r.Renew(t.Context(), rec.Digest, rec.Fence, lease),
		"settle": r.Settle(t.Context(), rec.Digest, rec.Fence, completed("x")),
		"await":  r.Await(t.Context(), rec.Digest),
	} {
		if err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%s: got %v, want an error that says read-only", verb, err)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	client := single.raw(t).client
	for want, o := range map[string]redisstore.Options{
		"letters, digits":            {Prefix: "a b"},
		"Replicas is negative":       {Replicas: -1},
		"shorter than a millisecond": {ReplicaTimeout: time.Microsecond},
	} {
		if _, err := redisstore.New(client, &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

// A server that answers but does not speak Redis is named as such.
func TestOpenOfSomethingElse(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) // whether it is read or not
			_ = c.Close()
		}
	}()
	_, err = redisstore.Open(t.Context(), "redis://"+l.Addr().String(), nil)
	wantWords(t, err, "does a Redis server listen there?")
}
