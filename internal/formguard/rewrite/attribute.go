package rewrite

import "bytes"

// attributes are those of one whole tag, not decoded, in their order.
type attributes struct {
	rest []byte // from behind the name of the tag, or of the attribute before, to the ">" and with it
}

// attributesOf takes a whole tag, from "<" to ">".
func attributesOf(tag []byte) attributes {
	end := min(1, len(tag))
	for end < len(tag) && !endsName(tag[end]) {
		end++
	}
	return attributes{rest: tag[end:]}
}

// next returns the name as it is written and the raw value of the next attribute, and false when there is none.
func (a *attributes) next() (name, value []byte, ok bool) {
	s, i := a.rest, 0
	for i < len(s) && (s[i] == '/' || isSpace(s[i])) {
		i++
	}
	if i == len(s) || s[i] == '>' {
		return nil, nil, false
	}
	start := i
	for i++; i < len(s) && s[i] != '=' && !endsName(s[i]); i++ { // a name may begin with "="
	}
	name = s[start:i]
	i = skipSpace(s, i)
	if i == len(s) || s[i] != '=' {
		a.rest = s[i:]
		return name, nil, true
	}
	i = skipSpace(s, i+1)
	switch {
	case i == len(s) || s[i] == '>':
		a.rest = s[i:]
	case s[i] == '"' || s[i] == '\'':
		value, a.rest, _ = bytes.Cut(s[i+1:], s[i:i+1])
	default:
		start = i
		for i < len(s) && s[i] != '>' && !isSpace(s[i]) {
			i++
		}
		value, a.rest = s[start:i], s[i:]
	}
	return name, value, true
}

func skipSpace(s []byte, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// attribute is one that a caller looks for.
type attribute struct {
	name  string // lower case
	value []byte // decoded
	has   bool
}

// find fills in the attributes by their first occurrence. The tag is whole, from "<" to ">". The values lie in what was
// appended to room, which is returned.
func find(tag, room []byte, wanted ...*attribute) []byte {
	all := attributesOf(tag)
	for {
		name, value, ok := all.next()
		if !ok {
			return room
		}
		for _, w := range wanted {
			if !w.has && equalFold(name, w.name) {
				start := len(room)
				room = appendDecoded(room, value)
				w.value, w.has = room[start:len(room):len(room)], true
			}
		}
	}
}

// equalFold compares as HTML does: only A to Z have another case.
func equalFold(s []byte, lowered string) bool {
	if len(s) != len(lowered) {
		return false
	}
	for i := range s {
		if lower(s[i]) != lowered[i] {
			return false
		}
	}
	return true
}

// keyword is the known keyword that a value is, whatever its case, or else the first one.
func keyword(value []byte, known ...string) string {
	for _, k := range known {
		if equalFold(value, k) {
			return k
		}
	}
	return known[0]
}
