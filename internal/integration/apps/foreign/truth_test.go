package foreign_test

import (
	"github.com/semel-dev/semel/check"
)

// implementations lists the libraries, with what is known of them in front of the shop.
func implementations() []implementation {
	return []implementation{
		{
			name: "express-idempotency", version: "1.0.6", from: "npm", service: "express-idempotency.mjs", quick: true,
			known: `
				BASIC-02 holds the handler is told of a hit, and returns
				BASIC-03 BASIC-04 holds status and body are kept
				BASIC-05 BASIC-10 LOST-05 broken of the headers only Content-Type is kept, so Location is lost
				KEY-02 broken quotes are part of a key, so all callers share the key ""
				KEY-03 KEY-13 broken quotes are part of a key
				KEY-04 broken two lines are joined to one key
				KEY-05 KEY-06 KEY-09 KEY-10 KEY-11 holds keys are compared whole
				MIS-01 MIS-02 MIS-04 MIS-08 MIS-10 MIS-11 holds address, query and parsed body are compared
				MIS-05 MIS-06 holds the middleware is on one route
				MIS-03 broken another body is refused by 417
				RACE-01 RACE-02 RACE-03 RACE-04 RACE-06 holds the record is made before anything else runs in the process
				ERR-02 ERR-03 ERR-05 holds what is not a 2xx is forgotten
				SCOPE-01 SCOPE-02 SCOPE-03 SCOPE-05 broken records have no caller
				SIZE-01 SIZE-07 holds whole bodies are compared`,
		},
		{
			name: "github.com/gofiber/fiber/v2", version: "v2.52.15", from: "Go", service: "fiber-v2",
			set: takesUUIDs,
			known: `
				BASIC-02 BASIC-03 BASIC-04 BASIC-05 BASIC-10 BASIC-12 holds the whole answer is kept
				KEY-04 broken the first of two lines counts
				KEY-05 broken a key that does not have 36 characters is answered 500
				MIS-01 MIS-08 MIS-11 holds requests with one key are executed one after the other, and the first one's answer is kept
				MIS-02 MIS-03 MIS-04 MIS-05 MIS-06 MIS-07 SIZE-07 broken requests are not compared: the first answer is sent for any other one
				RACE-01 RACE-02 RACE-03 RACE-04 RACE-06 holds a lock for each key
				LOST-03 LOST-05 LOST-07 LOST-10 holds the work goes on when the client is gone
				ERR-02 ERR-03 holds refusals and failures are kept, too
				ERR-05 broken a 401 is kept, and sent to the caller who logged in
				SCOPE-01 SCOPE-02 SCOPE-03 SCOPE-05 broken records have no caller`,
		},
	}
}

// takesUUIDs has keys of the only form that Fiber takes.
func takesUUIDs(c *check.Config) {
	c.Key, c.NewKey = check.KeyPlace{In: "header", Name: "X-Idempotency-Key"}, "{{uuid}}"
}
