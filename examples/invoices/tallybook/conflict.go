package tallybook

// ConflictError is a refusal that comes from what is stored already: the fields
// at fault, in words for their author.
type ConflictError struct{ Fields FieldErrors }

// Error implements error.
func (c *ConflictError) Error() string { return c.Fields.Error() }
