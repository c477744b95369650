package semelgrpc_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(map[string]func(context.Context, []string) error{"serve": serveUntilKilled})
	goleak.VerifyTestMain(m)
}

var noError = claimtest.NoError

// service is a server's side of the test service: its handlers count, and do what a test says.
type service struct {
	pb.UnimplementedTestServiceServer

	ran    atomic.Int32
	unary  func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error)
	output func(*pb.StreamingOutputCallRequest, grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error
	input  func(grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error
	duplex func(grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error
}

// UnaryCall answers with the number of the run, unless the test says otherwise.
func (s *service) UnaryCall(ctx context.Context, req *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	n := s.ran.Add(1)
	if s.unary != nil {
		return s.unary(ctx, req)
	}
	return &pb.SimpleResponse{Username: fmt.Sprint("invoice ", n)}, nil
}

func (s *service) StreamingOutputCall(req *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	s.ran.Add(1)
	return s.output(req, stream)
}

func (s *service) StreamingInputCall(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	s.ran.Add(1)
	return s.input(stream)
}

func (s *service) FullDuplexCall(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	s.ran.Add(1)
	return s.duplex(stream)
}

// wantRan fails the test unless handlers ran so often.
func (s *service) wantRan(t *testing.T, why string, want int32) {
	t.Helper()
	if got := s.ran.Load(); got != want {
		t.Errorf("%s: the handler ran %d times, want %d", why, got, want)
	}
}

// doorOptions are the parts of a door that a test may replace.
type doorOptions struct {
	semelgrpc.Options
	guard semel.Options
	store semel.Store
	scope semelgrpc.ScopeFunc
	outer []grpc.UnaryServerInterceptor // outside of the door
	inner []grpc.UnaryServerInterceptor // inside of it

	outerStream, innerStream []grpc.StreamServerInterceptor
	server                   []grpc.ServerOption
	dial                     []grpc.DialOption
	add                      func(*grpc.Server) // further services
}

// door is a server over TCP with the interceptors in place, and a client of it.
type door struct {
	*service
	client pb.TestServiceClient
	conn   *grpc.ClientConn
	guard  *semel.Guard
	store  semel.Store
	addr   string

	mu        sync.Mutex // guards the field below
	decisions []semelgrpc.Decision
}

func everyone(context.Context) string { return "everyone" }

func newDoor(tb testing.TB, o doorOptions) *door {
	tb.Helper()
	d := &door{service: &service{}, store: o.store}
	if d.store == nil {
		d.store = memstore.New(nil)
		claimtest.Closes(tb, d.store)
	}
	d.guard = claimtest.Guard(tb, d.store, &o.guard)
	if o.scope == nil {
		o.scope = semelgrpc.ScopeBy(everyone)
	}
	o.OnDecision = func(_ context.Context, decision semelgrpc.Decision) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.decisions = append(d.decisions, decision)
	}
	interceptor, err := semelgrpc.New(d.guard, o.scope, &o.Options)
	noError(tb, err)
	server := grpc.NewServer(append(o.server,
		grpc.ChainUnaryInterceptor(slices.Concat(o.outer, []grpc.UnaryServerInterceptor{interceptor.Unary}, o.inner)...),
		grpc.ChainStreamInterceptor(slices.Concat(o.outerStream, []grpc.StreamServerInterceptor{interceptor.Stream}, o.innerStream)...))...)
	pb.RegisterTestServiceServer(server, d.service)
	if o.add != nil {
		o.add(server)
	}
	d.addr = listen(tb, server)
	d.conn = dial(tb, d.addr, o.dial...)
	d.client = pb.NewTestServiceClient(d.conn)
	return d
}

// listen serves on a free port until the test ends.
func listen(tb testing.TB, server *grpc.Server) (addr string) {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	noError(tb, err)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	tb.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return listener.Addr().String()
}

func dial(tb testing.TB, addr string, options ...grpc.DialOption) *grpc.ClientConn {
	tb.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	noError(tb, err)
	claimtest.Closes(tb, conn)
	return conn
}

// outcomes returns the words of what was decided so far.
func (d *door) outcomes() (words []outcomelog.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, decision := range d.decisions {
		words = append(words, decision.Outcome)
	}
	return words
}

// reply holds everything that a client gets.
type reply struct {
	*pb.SimpleResponse
	err             error
	header, trailer metadata.MD
}

// word returns the word of the trailer for what Semel did.
func (r *reply) word() string {
	if words := r.trailer.Get(semelgrpc.StatusTrailer); len(words) == 1 {
		return words[0]
	}
	return fmt.Sprint(r.trailer.Get(semelgrpc.StatusTrailer))
}

// invoice makes a request for an amount.
func invoice(amount string) *pb.SimpleRequest {
	return &pb.SimpleRequest{Payload: &pb.Payload{Body: []byte(amount)}}
}

// ask sends a call with keys in its metadata.
func (d *door) ask(ctx context.Context, req *pb.SimpleRequest, keys ...string) *reply {
	var pairs []string
	for _, key := range keys {
		pairs = append(pairs, semelgrpc.DefaultMetadata, key)
	}
	ctx = metadata.AppendToOutgoingContext(ctx, pairs...)
	r := &reply{}
	r.SimpleResponse, r.err = d.client.UnaryCall(ctx, req, grpc.Header(&r.header), grpc.Trailer(&r.trailer))
	return r
}

// wantRefusal fails the test unless the error is that refusal.
func wantRefusal(t *testing.T, err error, code codes.Code, reason semelgrpc.Reason) {
	t.Helper()
	if status.Code(err) != code || semelgrpc.ReasonOf(err) != reason {
		t.Errorf("got %v %q (%v), want %v %q", status.Code(err), semelgrpc.ReasonOf(err), err, code, reason)
	}
}

// want fails the test unless the answer is that invoice, and Semel did that.
func (r *reply) want(t *testing.T, username, word string) {
	t.Helper()
	if r.err != nil || r.GetUsername() != username || r.word() != word {
		t.Errorf("got %q, %q, error %v, want %q, %q", r.GetUsername(), r.word(), r.err, username, word)
	}
}
