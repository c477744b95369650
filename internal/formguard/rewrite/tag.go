package rewrite

import "bytes"

// tagScan is the state of the tokenizer in a tag, after its name.
type tagScan uint8

const (
	beforeName  tagScan = iota // of an attribute
	inName                     // of an attribute
	afterName                  // of an attribute
	beforeValue                // after "="
	doubleQuoted
	singleQuoted
	unquoted
	afterQuoted
	afterSlash
)

// scan returns the index of the ">" that ends the tag, and true; or the end of p.
func (t *tagScan) scan(p []byte, i int) (int, bool) {
	now := *t
	for i < len(p) {
		c := p[i]
		switch now { //nolint:exhaustive // the others go byte by byte
		case doubleQuoted, singleQuoted:
			n := bytes.IndexByte(p[i:], now.quote())
			if n < 0 {
				*t = now
				return len(p), false
			}
			i += n
			now = afterQuoted
		case inName: // most bytes of a tag are in names and quotes
			for !endsName(c) && c != '=' {
				if i++; i == len(p) {
					*t = now
					return i, false
				}
				c = p[i]
			}
			fallthrough
		default:
			if c == '>' {
				*t = now
				return i, true
			}
			now = now.next(c)
		}
		i++
	}
	*t = now
	return i, false
}

func (t tagScan) quote() byte {
	if t == singleQuoted {
		return '\''
	}
	return '"'
}

// next is the state after one byte that is not ">", outside of quotes.
func (t tagScan) next(c byte) tagScan {
	switch t { //nolint:exhaustive // see default
	case inName, afterName:
		switch {
		case c == '=':
			return beforeValue
		case c == '/':
			return afterSlash
		case isSpace(c):
			return afterName
		}
		return inName
	case beforeValue:
		switch {
		case c == '"':
			return doubleQuoted
		case c == '\'':
			return singleQuoted
		case isSpace(c):
			return beforeValue
		}
		return unquoted
	case unquoted:
		if isSpace(c) {
			return beforeName
		}
		return unquoted
	default: // beforeName, afterQuoted, afterSlash; "=" begins a name here
		switch {
		case c == '/':
			return afterSlash
		case isSpace(c):
			return beforeName
		}
		return inName
	}
}
