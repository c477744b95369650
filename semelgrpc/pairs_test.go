package semelgrpc_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelgrpc"
	"github.com/semel-dev/semel/store/memstore"
)

const pairField = "response_status.message"

// serverRows has a value for every field of the server's options.
func serverRows() []*semelgrpc.Options {
	return []*semelgrpc.Options{
		{},
		{Metadata: "x-request-key"},
		{Field: pairField},
		{Required: true},
		{Policy: func(_ string, declared semelgrpc.KeyPolicy) semelgrpc.KeyPolicy { return declared }},
		{Transactor: (*memdb.DB)(nil)},
		{Fingerprint: func(string, proto.Message) (semel.Fingerprint, error) { return semel.Fingerprint{1}, nil }},
		{BeforeReplay: func(context.Context, string, proto.Message, *semel.Record) error { return nil }},
		{Files: protoregistry.GlobalFiles},
		{Types: protoregistry.GlobalTypes},
		{OnDecision: func(context.Context, semelgrpc.Decision) {}},
		{Metadata: "x-request-key", Field: pairField, Required: true},
		{Metadata: "x-request-key", Required: true},
		{Field: pairField, Required: true},
	}
}

// clientRows has a value for every field of the client's options.
func clientRows() []*semelgrpc.ClientOptions {
	var minted atomic.Int64 // pairs run at the same time
	return []*semelgrpc.ClientOptions{
		{},
		{Metadata: "x-request-key"},
		{Field: pairField},
		{Mint: func() string { return fmt.Sprintf("minted, %d", minted.Add(1)) }},
		{Files: protoregistry.GlobalFiles},
		{Metadata: "x-request-key", Field: pairField},
	}
}

// named returns the fields that a row sets.
func named[T any](row T) (set []string) {
	for field, value := range reflect.ValueOf(row).Fields() {
		if !value.IsZero() {
			set = append(set, field.Name)
		}
	}
	return set
}

// TestPairsOfOptions: a call that is sent again after a lost answer takes effect once and gets the first answer, whatever the
// options of both sides; or the first call is refused, names the option, and nothing ran.
func TestPairsOfOptions(t *testing.T) {
	t.Parallel()
	servers, clients := serverRows(), clientRows()
	claimtest.EveryFieldSet(t, servers...)
	claimtest.EveryFieldSet(t, clients...)
	for _, server := range servers {
		for _, client := range clients {
			for _, inside := range []string{"", "order, 17"} {
				t.Run(fmt.Sprintf("%v/%v/%q", named(*server), named(*client), inside), func(t *testing.T) {
					t.Parallel()
					tryPair(t, *server, *client, inside)
				})
			}
		}
	}
}

func tryPair(t *testing.T, server semelgrpc.Options, client semelgrpc.ClientOptions, inside string) {
	t.Helper()
	keyed, err := semelgrpc.WithKeys(&client)
	noError(t, err)
	o := doorOptions{Options: server, dial: []grpc.DialOption{keyed, grpc.WithChainUnaryInterceptor(retrying, losing())}}
	if server.Transactor != nil {
		db := memdb.New(memstore.New(nil), nil)
		t.Cleanup(func() { _ = db.Close() })
		o.store, o.Transactor = db, db
	}
	d := newDoor(t, o)
	req := invoice("10")
	req.ResponseStatus = &pb.EchoStatus{Message: inside}
	got := d.ask(t.Context(), req)

	sameName := server.Metadata == client.Metadata
	fieldHasIt := server.Field != "" && inside != ""
	switch {
	case fieldHasIt && sameName && client.Field == "":
		wantNaming(t, d, got, "ClientOptions.Field")
	case server.Metadata != "" && !sameName:
		wantNaming(t, d, got, "ClientOptions.Metadata")
	case !sameName && !fieldHasIt && server.Required:
		wantNaming(t, d, got, "in the metadata idempotency-key")
	case !sameName && !fieldHasIt:
		// A server cannot see a name that it was not told: Required refuses these calls.
		if d.ran.Load() != 2 || len(got.trailer.Get(semelgrpc.StatusTrailer)) > 0 {
			t.Errorf("ran %d times, %v", d.ran.Load(), got.trailer)
		}
	default:
		got.want(t, "invoice 1", string(outcomelog.Replayed))
		d.wantRan(t, "the pair", 1)
	}
}

// wantNaming fails the test unless the call was refused with that in its text before anything ran.
func wantNaming(t *testing.T, d *door, got *reply, option string) {
	t.Helper()
	if semelgrpc.ReasonOf(got.err) == "" || !strings.Contains(got.err.Error(), option) {
		t.Errorf("got %q, %v, want a refusal that names %s", got.word(), got.err, option)
	}
	d.wantRan(t, "a refused call", 0)
}

// TestIntentOfAStreamUnderOtherMetadata: an intent goes out under the default name with a stream, and a server that reads another
// one refuses it in place of running it each time.
func TestIntentOfAStreamUnderOtherMetadata(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{Options: semelgrpc.Options{Metadata: "x-request-key"}})
	var messages atomic.Int32
	d.input = func(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
		for {
			if _, err := stream.Recv(); err != nil {
				return stream.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: 1})
			}
			messages.Add(1)
		}
	}
	_, _, err := d.inputOf(semelgrpc.WithIntent(t.Context(), "order-17"), "tea")
	if semelgrpc.ReasonOf(err) != semelgrpc.ReasonKeyInvalid || !strings.Contains(err.Error(), "x-request-key") {
		t.Errorf("got %v", err)
	}
	d.wantRan(t, "a refused stream", 0)
	for _, want := range []semelgrpc.Reason{"", semelgrpc.ReasonNotKept} {
		if _, _, err = d.inputOf(with(t, "x-request-key", "order-17"), "tea"); semelgrpc.ReasonOf(err) != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if got := messages.Load(); got != 1 {
		t.Errorf("handlers got %d messages, want 1", got)
	}
}
