package kafka_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/semel-dev/semel/adapters/kafka"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/drivertest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
)

func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, driver())
}

func driver() drivertest.Driver {
	return drivertest.Driver{
		Addr: func(tb testing.TB) string {
			tb.Helper()
			cluster, err := kfake.NewCluster(brokerOpts()...)
			claimtest.NoError(tb, err)
			tb.Cleanup(cluster.Close)
			return cluster.ListenAddrs()[0]
		},
		Own: func(tb testing.TB) drivertest.Server { tb.Helper(); return newProcess(tb) },
		Make: func(tb testing.TB, addr, name string) func() int {
			tb.Helper()
			client, err := kgo.NewClient(dial(addr)...)
			claimtest.NoError(tb, err)
			tb.Cleanup(client.Close)
			admin := kadm.NewClient(client)
			_, err = admin.CreateTopic(tb.Context(), 3, 1, nil, name)
			claimtest.NoError(tb, err)
			return func() int { return uncommitted(tb, admin, name) }
		},
		Consume: func(ctx context.Context, addr, topic string, handlers int, handle drivertest.Handle) error {
			return kafka.Consume(ctx, kafka.Source{Group: topic, Topics: []string{topic}, Client: append(dial(addr),
				kgo.HeartbeatInterval(100*time.Millisecond), kgo.SessionTimeout(3*time.Second), kgo.RebalanceTimeout(3*time.Second),
			)}, handle, &kafka.ConsumeOptions{Concurrency: handlers, CommitInterval: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
		},
		Publisher: func(addr string) (outbox.Publisher, func(), error) {
			client, err := kgo.NewClient(dial(addr)...)
			if err != nil {
				return nil, nil, err
			}
			p, err := kafka.NewPublisher(client, &kafka.PublisherOptions{Timeout: 3 * time.Second})
			return p, client.Close, err
		},
		Foreign:    foreign,
		Tombstones: true,
		Names:      true,
		Refused:    "no.such.topic",
	}
}

// foreign sends a record as another producer does.
func foreign(ctx context.Context, addr, topic string, m inbox.Message) error {
	client, err := kgo.NewClient(dial(addr)...)
	if err != nil {
		return err
	}
	defer client.Close()
	r := &kgo.Record{Topic: topic, Key: m.Key, Value: m.Body}
	if m.ID != "" {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: "id", Value: []byte(m.ID)})
	}
	for name, value := range m.Header {
		for _, value := range append([]string{value}, m.Repeated[name][min(1, len(m.Repeated[name])):]...) {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
		}
	}
	return client.ProduceSync(ctx, r).FirstErr()
}

// dial reaches a broker at this address, whatever address the broker gives for itself: that of a proxy.
func dial(addr string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(addr), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}),
	}
}

// uncommitted returns how many records of a topic its group has not committed.
func uncommitted(tb testing.TB, admin *kadm.Client, name string) (n int) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	ends, err := admin.ListEndOffsets(ctx, name)
	claimtest.NoError(tb, err)
	offsets, err := admin.FetchOffsets(ctx, name)
	claimtest.NoError(tb, err)
	ends.Each(func(end kadm.ListedOffset) {
		claimtest.NoError(tb, end.Err)
		n += int(end.Offset)
		if o, ok := offsets.Lookup(end.Topic, end.Partition); ok {
			n -= int(max(o.At, 0))
		}
	})
	return n
}

func brokerOpts(more ...kfake.Opt) []kfake.Opt {
	return append(more, kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
}

// brokerVar makes the test binary a broker, on the port and the data that it names.
const brokerVar = "SEMEL_KAFKA_BROKER"

// beBroker runs a broker where a test has started this process for that, until its input is closed, and returns at once otherwise.
func beBroker() {
	var port int
	var dir string
	if _, err := fmt.Sscanf(os.Getenv(brokerVar), "%d %s", &port, &dir); err != nil {
		return
	}
	if _, err := kfake.NewCluster(brokerOpts(kfake.Ports(port), kfake.DataDir(dir))...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, "ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// process is a broker in a process of its own, which writes to a disk.
type process struct {
	testing.TB

	assignment, addr string
	cmd              *exec.Cmd
}

func newProcess(tb testing.TB) *process {
	tb.Helper()
	proxy := testserver.NewProxy(tb, "") // has found a port that stays free while the broker is down
	proxy.Down()
	_, port, err := net.SplitHostPort(proxy.Addr())
	claimtest.NoError(tb, err)
	p := &process{TB: tb, assignment: port + " " + tb.TempDir(), addr: proxy.Addr()}
	tb.Cleanup(p.Kill)
	p.Start()
	return p
}

// Addr implements [drivertest.Server].
func (p *process) Addr() string { return p.addr }

// Start implements [drivertest.Server].
func (p *process) Start() {
	p.Helper()
	self, err := os.Executable()
	claimtest.NoError(p, err)
	p.cmd = exec.CommandContext(context.WithoutCancel(p.Context()), self)
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), brokerVar+"="+p.assignment), os.Stderr
	_, err = p.cmd.StdinPipe() // the broker ends when this process does
	claimtest.NoError(p, err)
	out, err := p.cmd.StdoutPipe()
	claimtest.NoError(p, err)
	claimtest.NoError(p, p.cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		p.Errorf("the broker said %q, error %v", line, err)
	}
}

// Kill implements [drivertest.Server].
func (p *process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
}
