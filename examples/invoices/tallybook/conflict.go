package tallybook

// ConflictError is a refusal that comes from what is stored already.
type ConflictError struct {
	// Rule names the rule that the create would have broken.
	Rule string
	// Fields are the fields at fault, in words for their author.
	Fields FieldErrors
}

// Error implements error.
func (c *ConflictError) Error() string { return "rule " + c.Rule + ": " + c.Fields.Error() }
