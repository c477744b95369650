package verb

// Unfit marks the refusal of a server that can be reached, and whose version or settings would break a promise.
func Unfit(err error) error {
	if err == nil {
		return nil
	}
	return unfit{err}
}

type unfit struct{ error }

// Unwrap returns the refusal itself.
func (u unfit) Unwrap() error { return u.error }

// Unfit tells programs that the server was reached; semel check-store looks for it.
func (unfit) Unfit() {}
