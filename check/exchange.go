package check

import "github.com/semel-dev/semel/internal/check/wire"

type (
	// Field is a header line.
	Field = wire.Field
	// Request is a request as it is sent.
	Request = wire.Request
	// Answer is an answer, whole or cut.
	Answer = wire.Answer
	// Manner says what is unusual about the sending.
	Manner = wire.Manner
)
