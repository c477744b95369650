package tree

// Parsed is one statement of a text.
type Parsed struct {
	Start, End int // bytes of the text, without the semicolon and the blanks and comments around it
	Statement  Statement
}
