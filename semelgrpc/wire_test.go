package semelgrpc_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelgrpc"
)

// builtIn is a client of gRPC's own that retries.
const builtIn = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.01s", "maxBackoff": "0.05s", "backoffMultiplier": 1.5,
	"retryableStatusCodes": ["UNAVAILABLE", "ABORTED"]}}]}`

// TestBuiltInRetries: the retries of gRPC itself, which knows nothing of Semel, send one key and end with the first answer: after an answer that
// says "not now", and while the first attempt is running.
func TestBuiltInRetries(t *testing.T) {
	t.Parallel()
	retrying := []grpc.DialOption{grpc.WithDefaultServiceConfig(builtIn), keys(t)}
	t.Run("not now", func(t *testing.T) {
		t.Parallel()
		d := newDoor(t, doorOptions{dial: retrying})
		var seen sync.Map
		d.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			seen.Store(md.Get(semelgrpc.DefaultMetadata)[0], true)
			if len(md.Get("grpc-previous-rpc-attempts")) == 0 {
				return nil, status.Error(codes.Unavailable, "the database restarts")
			}
			return &pb.SimpleResponse{Username: "invoice 1"}, nil
		}
		d.ask(t.Context(), invoice("10")).want(t, "invoice 1", "executed")
		d.wantRan(t, "it said that nothing happened", 2)
		count := 0
		seen.Range(func(any, any) bool { count++; return true })
		if count != 1 {
			t.Errorf("the wish had %d keys, want 1", count)
		}
	})
	t.Run("in flight", func(t *testing.T) {
		t.Parallel()
		waits := make(chan struct{}, 10)
		d := newDoor(t, doorOptions{dial: retrying, guard: semel.Options{
			Policy: semel.Policy{Wait: semel.NoWait},
			Trace:  &semel.Trace{Began: func(context.Context, semel.BeginInfo) { waits <- struct{}{} }},
		}})
		finish := d.busy(t)
		<-waits
		var twin sync.WaitGroup
		twin.Go(func() { d.ask(t.Context(), invoice("10"), "k1").want(t, "invoice 1", "replayed") })
		<-waits // it was refused once, and comes again when the trailer says so
		finish()
		twin.Wait()
		d.wantRan(t, "promise 1", 1)
	})
}

// cable is a TCP connection to a server that a test can cut.
type cable struct {
	addr string

	mu    sync.Mutex // guards the fields below
	ends  []net.Conn
	plugs sync.WaitGroup
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	noError(t, err)
	c := &cable{addr: listener.Addr().String()}
	c.plugs.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(context.WithoutCancel(t.Context()), "tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			c.mu.Lock()
			c.ends = append(c.ends, near, far)
			c.mu.Unlock()
			c.plugs.Go(func() { _, _ = io.Copy(far, near); _ = far.Close() })
			c.plugs.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut()
		c.plugs.Wait()
	})
	return c
}

// cut ends the connections that there are; later ones go through.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range c.ends {
		_ = end.Close()
	}
	c.ends = nil
}

// TestCutConnection: promise 3: the answer is lost with the connection, and the retry that gRPC makes gets it: one effect.
func TestCutConnection(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	wire := newCable(t, d.addr)
	d.client = pb.NewTestServiceClient(dial(t, wire.addr, grpc.WithDefaultServiceConfig(builtIn), keys(t)))
	d.unary = func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		wire.cut() // a second run would cut again
		return &pb.SimpleResponse{Username: "invoice 1"}, ctx.Err()
	}
	d.ask(t.Context(), invoice("10")).want(t, "invoice 1", "replayed")
	d.wantRan(t, "promise 3", 1)
}

// TestAnswerOverTheLimit: an answer that gRPC refuses to send, or to receive, was given: a retry does not run.
func TestAnswerOverTheLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    doorOptions
		call []grpc.CallOption
		size int
		then codes.Code
	}{
		"of the server":         {doorOptions{server: []grpc.ServerOption{grpc.MaxSendMsgSize(1000)}}, nil, 2000, codes.ResourceExhausted},
		"of the client":         {doorOptions{}, []grpc.CallOption{grpc.MaxCallRecvMsgSize(1000)}, 2000, codes.ResourceExhausted},
		"of client and outcome": {doorOptions{}, nil, 5 << 20, codes.FailedPrecondition},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, c.o)
			d.unary = func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
				return &pb.SimpleResponse{Username: strings.Repeat("x", c.size)}, nil
			}
			for _, want := range []codes.Code{codes.ResourceExhausted, c.then} {
				if _, err := d.client.UnaryCall(with(t, "idempotency-key", "k1"), invoice("10"), c.call...); status.Code(err) != want {
					t.Errorf("got %v, want %v", err, want)
				}
			}
			d.wantRan(t, "promise 3", 1)
		})
	}
}
