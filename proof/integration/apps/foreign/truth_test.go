package foreign_test

import (
	"testing"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/testserver"
)

// implementations lists the libraries, with what is known of them in front of the shop.
func implementations() []implementation {
	return append(express(), append(node(), golang()...)...)
}

func express() []implementation {
	return []implementation{
		{
			name: "express-idempotency", version: "1.0.6", from: "npm", service: "express-idempotency.mjs", quick: true,
			known: `
				BASIC-02 holds the handler is told of a hit, and returns
				BASIC-03 BASIC-04 holds status and body are kept
				BASIC-05 BASIC-10 LOST-05 broken of the headers only Content-Type is kept, so Location is lost
				KEY-02 KEY-03 KEY-12 KEY-13 broken quotes are part of a key
				KEY-04 broken two lines are joined to one key
				KEY-05 KEY-06 KEY-09 KEY-10 KEY-11 holds keys are compared whole
				MIS-01 MIS-02 MIS-04 MIS-08 MIS-10 MIS-11 holds address, query and parsed body are compared
				MIS-05 MIS-06 holds the middleware is on one route
				MIS-03 broken another body is refused by 417
				RACE-01 RACE-02 RACE-03 RACE-04 holds the record is made before anything else runs in the process
				RACE-06 either an attempt that comes after the first answer gets its replay, without Location
				ERR-02 ERR-03 ERR-05 holds what is not a 2xx is forgotten
				SCOPE-01 SCOPE-02 SCOPE-03 SCOPE-05 broken records have no caller
				SIZE-01 SIZE-07 holds whole bodies are compared
				OP-01 broken records are in the memory of one process
				OP-02 either what was carried out, and not recorded, runs again
				OP-03 holds nothing is left of what was interrupted
				BASIC-08 broken no header marks a replay
				BASIC-11 broken no policy is published
				MIS-12 broken a refused body gets no problem document
				RACE-07 broken a refusal while the first attempt runs has no Retry-After`,
		},
		{
			name: "express-idempotency-redis-adapter", version: "1.0.8", from: "npm", service: "express-idempotency-redis-adapter.mjs",
			env: distantRedis,
			known: `
				BASIC-02 BASIC-03 BASIC-04 BASIC-10 BASIC-12 holds the record is in Redis
				KEY-02 KEY-03 KEY-12 KEY-13 broken quotes are part of a key
				KEY-04 broken two lines are joined to one key
				MIS-01 MIS-02 MIS-04 MIS-05 MIS-06 MIS-08 MIS-10 holds address, query and parsed body are compared
				MIS-03 broken another body is refused by 417
				RACE-02 RACE-03 RACE-04 RACE-06 broken a look-up, and later a SET that replaces what is there: both attempts run
				RACE-01 RACE-09 MIS-11 LOST-07 LOST-10 LOST-08 either two attempts run if they are less than a round trip apart
				LOST-02 LOST-03 LOST-05 holds the record outlives the connection
				ERR-02 ERR-03 ERR-05 holds what is not a 2xx is forgotten
				SCOPE-01 SCOPE-02 SCOPE-03 SCOPE-05 broken records have no caller
				SIZE-01 SIZE-07 holds whole bodies are compared
				OP-01 either an answer is sent before its record
				OP-02 open the outcome of what was interrupted stays unknown
				OP-03 broken what was interrupted is refused as running for a day
				BASIC-08 broken no header marks a replay
				BASIC-11 broken no policy is published
				MIS-12 broken a refused body gets no problem document
				RACE-07 either no attempt may be refused`,
		},
		{
			name: "idempotency-backend", part: "express", version: "1.0.4", from: "npm", service: "idempotency-backend-express.mjs", quick: true,
			known: wrapped + `
				BASIC-12 broken the replay is another body, and has another ETag`,
		},
	}
}

// wrapped is known of idempotency-backend in front of every framework.
const wrapped = `
	BASIC-02 holds the record is read before the handler runs
	BASIC-03 BASIC-04 BASIC-10 OP-01 broken a replay is 200 {"cached":true,"data":…}, whatever the first answer was
	KEY-01 broken requests without a key are one intent for each address
	KEY-02 broken all callers share the empty key
	KEY-03 KEY-12 KEY-13 broken quotes are part of a key
	KEY-04 broken two lines are joined to one key
	MIS-01 MIS-08 holds a known key is answered from its record
	MIS-02 MIS-03 MIS-04 MIS-05 MIS-06 MIS-07 SIZE-07 broken requests are not compared: the first answer is sent for any other one
	MIS-11 RACE-01 RACE-02 RACE-03 RACE-04 RACE-06 LOST-08 broken a key is recorded when its request ends
	LOST-07 LOST-10 SCOPE-05 either the second attempt comes before the first one's record, or after it
	LOST-01 LOST-02 LOST-03 LOST-06 LOST-09 holds nothing is recorded of what was cut
	ERR-01 ERR-02 ERR-03 ERR-05 holds only successes are recorded
	SCOPE-01 SCOPE-02 SCOPE-03 broken records have no caller
	OP-02 either what was carried out, and not recorded, runs again
	BASIC-08 broken no header marks a replay
	BASIC-11 broken no policy is published`

func node() []implementation {
	return []implementation{
		{
			name: "idempotency-backend", part: "fastify", version: "1.0.4", from: "npm", service: "idempotency-backend-fastify.mjs",
			known: wrapped + `
				BASIC-12 holds there is no ETag`,
		},
		{
			name: "@node-idempotency/core", version: "1.0.11", from: "npm", service: "node-idempotency-core.mjs",
			known: keptByCore + `
				MIS-04 broken what counts is the path, which is given to the library
				ERR-05 broken a 401 is kept, and sent to the caller who logged in
				SCOPE-03 broken records have no caller
				OP-01 broken records are in the memory of one process
				OP-02 either what was carried out, and not recorded, runs again
				OP-03 holds nothing is left of what was interrupted
				BASIC-08 broken no header marks a replay
				RACE-07 broken a refusal while the first attempt runs has no Retry-After`,
		},
		{
			name: "@node-idempotency/nestjs", version: "1.0.4", from: "npm", service: "node-idempotency-nestjs.mjs",
			known: keptByCore + `
				MIS-04 holds a key with another query is another key
				ERR-05 SCOPE-03 holds a guard refuses unknown callers before the interceptor runs
				OP-01 broken records are in the memory of one process
				OP-02 either what was carried out, and not recorded, runs again
				OP-03 holds nothing is left of what was interrupted
				BASIC-08 RACE-07 holds there are Idempotent-Replayed and Retry-After`,
		},
		{
			name: "@aws-lambda-powertools/idempotency", version: "2.35.0", from: "npm", service: "powertools.mjs", env: distantRedis,
			known: `
				BASIC-02 BASIC-03 BASIC-04 BASIC-10 holds the result is in Redis
				KEY-02 KEY-03 KEY-12 KEY-13 broken quotes are part of a key
				KEY-04 broken two lines are joined to one key
				MIS-01 MIS-08 MIS-10 MIS-11 holds a known key is answered from its record, or by 409
				MIS-02 MIS-03 MIS-04 MIS-07 SIZE-07 broken only key and caller are compared unless payloads are validated
				MIS-05 MIS-06 holds the function is behind one route
				RACE-01 RACE-02 RACE-03 RACE-04 RACE-06 holds SET NX
				LOST-03 LOST-05 LOST-07 LOST-10 holds the function goes on when the client is gone
				ERR-02 ERR-03 ERR-05 holds what throws is forgotten, and the caller is part of the key
				SCOPE-01 SCOPE-02 SCOPE-03 SCOPE-05 holds the caller is part of the key
				OP-01 OP-03 holds the record ends with the time that the function has
				OP-02 either what was carried out, and not recorded, runs again
				BASIC-08 broken no header marks a replay
				BASIC-11 broken no policy is published
				RACE-07 broken a refusal while the first attempt runs has no Retry-After`,
		},
		{
			name: "@aws-lambda-powertools/idempotency", part: "with payload validation", version: "2.35.0", from: "npm", service: "powertools.mjs",
			env: func(tb testing.TB) []string { tb.Helper(); return append(distantRedis(tb), "VALIDATE=body") },
			known: `
				BASIC-02 holds the result is in Redis
				BASIC-03 BASIC-04 BASIC-10 BASIC-12 MIS-10 OP-01 broken a completed record has no hash of the payload: every repetition is refused by 422
				KEY-02 KEY-03 KEY-12 KEY-13 broken quotes are part of a key
				KEY-04 broken two lines are joined to one key
				MIS-07 broken a body that is not parsed is answered 500
				MIS-01 MIS-02 MIS-03 MIS-05 MIS-06 MIS-08 MIS-11 holds nothing else is executed, or answered from the record
				RACE-01 RACE-02 RACE-03 RACE-04 holds SET NX
				ERR-03 ERR-05 holds what throws is forgotten, and the caller is part of the key
				SCOPE-01 SCOPE-02 SCOPE-03 SCOPE-05 holds the caller is part of the key
				SIZE-07 holds nothing is answered from the record
				OP-02 either what was carried out, and not recorded, runs again
				BASIC-11 broken no policy is published
				MIS-12 broken a refused body gets no problem document
				RACE-07 broken a refusal while the first attempt runs has no Retry-After`,
		},
		{
			name: "@dbos-inc/dbos-sdk", version: "5.3.0", from: "npm", service: "dbos.mjs",
			env: func(tb testing.TB) []string {
				tb.Helper()
				return []string{"POSTGRES=" + testserver.PostgresDatabase(tb)}
			},
			known: `
				BASIC-02 BASIC-03 BASIC-04 BASIC-10 BASIC-12 holds a known id of a workflow gives its result
				KEY-02 KEY-03 KEY-12 KEY-13 broken quotes are part of a key
				KEY-04 broken two lines are joined to one key
				KEY-05 KEY-06 KEY-09 KEY-10 KEY-11 holds keys are compared whole
				MIS-01 MIS-08 MIS-10 MIS-11 holds the first input counts
				MIS-02 MIS-03 MIS-04 MIS-07 SIZE-07 broken requests are not compared: the first answer is sent for any other one
				MIS-05 MIS-06 holds the workflow is behind one route
				RACE-01 RACE-02 RACE-03 RACE-04 RACE-06 holds one row for each id, and the others wait for the result
				LOST-03 LOST-05 LOST-07 LOST-10 holds the workflow goes on when the client is gone
				ERR-03 holds a failure is kept, and repeated
				ERR-05 broken a 401 is kept, and sent to the caller who logged in
				SCOPE-01 SCOPE-02 SCOPE-03 SCOPE-05 broken records have no caller
				OP-01 OP-03 holds a workflow goes on after a restart
				OP-02 either what was carried out, and not recorded, runs again
				BASIC-08 broken no header marks a replay
				BASIC-11 broken no policy is published`,
		},
	}
}

// keptByCore is known of @node-idempotency/core in front of every framework.
const keptByCore = `
	BASIC-02 BASIC-03 BASIC-04 BASIC-10 BASIC-12 holds status and body are kept
	KEY-02 KEY-03 KEY-12 KEY-13 broken quotes are part of a key
	KEY-04 broken two lines are joined to one key
	KEY-05 KEY-06 KEY-07 holds a key of more than 256 characters is refused by 400
	MIS-01 MIS-02 MIS-03 MIS-07 MIS-08 MIS-10 MIS-11 SIZE-07 holds a hash of the parsed body is compared, and another one refused by 422
	MIS-05 MIS-06 holds method and path are part of the key
	RACE-01 RACE-02 RACE-03 RACE-04 RACE-06 holds the key is set in one step, and the others are refused by 409
	LOST-03 LOST-05 LOST-07 LOST-10 holds the handler goes on when the client is gone
	ERR-01 ERR-03 holds refusals and failures are kept and repeated
	SCOPE-01 SCOPE-02 SCOPE-05 broken records have no caller
	BASIC-11 broken no policy is published
	MIS-12 broken a refused body gets no problem document`

func golang() []implementation {
	return []implementation{
		{
			name: "github.com/gofiber/fiber/v2", version: "v2.52.15", from: "Go", service: "fiber-v2", set: takesUUIDs,
			known: fiber + `
				BASIC-05 holds every header is kept
				ERR-05 broken a 401 is kept, and sent to the caller who logged in
				OP-01 broken records are in the memory of one process
				OP-02 either what was carried out, and not recorded, runs again
				OP-03 holds nothing is left of what was interrupted`,
		},
		{
			name: "github.com/gofiber/fiber/v3", version: "v3.1.0", from: "Go", service: "fiber-v3", set: takesUUIDs,
			known: fiber + `
				SCOPE-04 broken every header is kept, Set-Cookie among them
				ERR-05 holds what the handler returns as an error is not kept
				OP-01 broken records are in the memory of one process
				OP-02 either what was carried out, and not recorded, runs again
				OP-03 holds nothing is left of what was interrupted`,
		},
		{
			name: "github.com/moov-io/base", part: "idempotent", version: "v0.27.5", from: "Go", service: "moov-base", profile: "dedup", set: inMoovsHeader,
			known: `
				BASIC-02 holds a key that was seen is refused
				BASIC-10 BASIC-13 broken a duplicate is answered 412
				KEY-04 broken the first of two lines counts
				KEY-06 broken a key is cut to 50 bytes
				KEY-10 holds keys are compared byte for byte
				MIS-01 MIS-08 holds a key that was seen is refused
				MIS-11 RACE-01 RACE-02 RACE-03 RACE-04 either a look-up and then an entry: two attempts in the same microsecond both run
				LOST-01 holds a key is recorded when the head of its request has arrived
				LOST-02 LOST-09 broken a request whose body was cut is never executed
				ERR-01 ERR-02 holds a refused key stays refused
				ERR-03 ERR-05 broken a key that failed, or had no credentials, counts as done
				SCOPE-01 SCOPE-03 holds no answer is kept
				SCOPE-02 SCOPE-05 broken keys have no caller
				OP-01 broken records are in the memory of one process
				OP-02 either what was carried out, and not recorded, runs again
				OP-03 holds nothing is left of what was interrupted
				BASIC-11 broken no policy is published`,
		},
	}
}

// fiber is known of the middleware of Fiber in both versions.
const fiber = `
	BASIC-02 BASIC-03 BASIC-04 BASIC-10 BASIC-12 holds the whole answer is kept
	KEY-04 broken the first of two lines counts
	KEY-05 broken a key that does not have 36 characters is answered 500
	MIS-01 MIS-08 MIS-11 holds requests with one key are executed one after the other, and the first one's answer is kept
	MIS-02 MIS-03 MIS-04 MIS-05 MIS-06 MIS-07 SIZE-07 broken requests are not compared: the first answer is sent for any other one
	RACE-01 RACE-02 RACE-03 RACE-04 RACE-06 holds a lock for each key
	LOST-03 LOST-05 LOST-07 LOST-10 holds the work goes on when the client is gone
	ERR-02 ERR-03 holds a refusal is kept, or was without an effect
	SCOPE-01 SCOPE-02 SCOPE-03 SCOPE-05 broken records have no caller
	BASIC-08 broken no header marks a replay
	BASIC-11 broken no policy is published`

// takesUUIDs has keys of the only form that Fiber takes.
func takesUUIDs(c *check.Config) { inMoovsHeader(c); c.NewKey = "{{uuid}}" }

func inMoovsHeader(c *check.Config) { c.Key = check.KeyPlace{In: "header", Name: "X-Idempotency-Key"} }

// roundTrip is the time to a server in another building and back.
const roundTrip = 2 * time.Millisecond

// distantRedis has the address of a Redis server for this test.
func distantRedis(tb testing.TB) []string {
	tb.Helper()
	proxy := testserver.NewProxy(tb, testserver.StartRedis(tb, nil).Addr())
	proxy.Latency(roundTrip)
	return []string{"REDIS=redis://" + proxy.Addr()}
}
