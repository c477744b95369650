package verb

// Refused marks the refusal of a server that repeats it until an operator changes a setting, a right, the schema or the disk. A guard
// does not go on repeating such a claim.
func Refused(err error) error { return refused{err} }

type refused struct{ error }

// Unwrap returns the server's answer.
func (r refused) Unwrap() error { return r.error }

// Refused tells the guard.
func (refused) Refused() {}
