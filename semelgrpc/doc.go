// Package semelgrpc is Semel's gRPC door: server interceptors that run each call with a key once, and a client
// interceptor that gives each call a key.
//
//	guard, err := semel.New(store, nil)
//	door, err := semelgrpc.New(guard, semelgrpc.ScopeBy(accountOf), nil)
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(recover, authorise, door.Unary),
//		grpc.ChainStreamInterceptor(recoverStream, authoriseStream, door.Stream))
//
// The key is the metadata idempotency-key, or a string field of the request such as request_id. unary.go walks a call
// through the door:
//
//	method ─ key ─ scope ─ fingerprint ─ Guard.Begin ─┬─ claim:  the handler runs; its answer is recorded, and only then sent
//	   │      │      │          │                     │
//	   │      │      │          │                     ├─ record: the recorded answer is sent
//	   ▼      ▼      ▼          ▼                     ▼
//	 pass   pass   INVALID_ARGUMENT,                refusal: a status with an ErrorInfo (refusal.go)
//	 on     on     UNIMPLEMENTED
//
// The handler's context is the claim's: it has the values of the call's, outlives the client, and ends with
// [semel.Policy.MaxRun] or when the claim is lost. Headers and trailers that the handler sets are part of the answer.
// Every answer under a key says in its trailer what Semel did, see [StatusTrailer].
//
// A stream is claimed at its first message and recorded without its messages (stream.go): a later attempt does not
// run, and learns that the answer was not kept. A stream in both directions has no request that could be compared, so
// a key on it is refused.
package semelgrpc
