package source

import (
	"strings"
	"unicode/utf8"
)

// textOf generates a text. It contains a place if the schema leaves room for one, so that two intents differ.
func (a *openAPI) textOf(s *value, name string) string {
	if made := ofFormat(s.get("format").text()); made != "" {
		return made
	}
	least, most := 0, maxText
	if f, ok := s.get("minLength").float(); ok {
		least = int(max(0, min(f, maxText)))
	}
	if f, ok := s.get("maxLength").float(); ok {
		most = int(max(0, min(f, maxText)))
	}
	if pattern := s.get("pattern").text(); pattern != "" {
		made, ok := matching(pattern, least, most)
		if !ok {
			a.r.addNote("no text was found for %s, whose pattern is %s: give one", name, pattern)
		}
		return made
	}
	// {{n}} has 16 digits: microseconds since 1970.
	switch {
	case most < 16:
		return strings.Repeat("x", max(least, min(most, len("semel"))))
	case most < len("semel-")+16:
		return "{{n}}" + strings.Repeat("x", max(0, least-16))
	}
	return "semel-{{n}}" + strings.Repeat("x", max(0, least-len("semel-")-16))
}

// ofFormat returns a text of a known format, or nothing.
func ofFormat(format string) string {
	switch format {
	case "uuid", "guid":
		return "{{uuid}}"
	case "date-time":
		return "{{now}}"
	case "date":
		return "2030-01-15"
	case "time":
		return "12:00:00Z"
	case "duration":
		return "P1D"
	case "email", "idn-email":
		return "semel-{{n}}@example.com"
	case "hostname", "idn-hostname":
		return "example.com"
	case "ipv4":
		return "192.0.2.1"
	case "ipv6":
		return "2001:db8::1"
	case "uri", "url", "iri":
		return "https://example.com/semel-{{n}}"
	case "uri-reference", "iri-reference", "uri-template":
		return "/semel-{{n}}"
	case "json-pointer":
		return "/semel"
	case "byte", "base64", "base64url":
		return "c2VtZWw="
	case "decimal", "int32", "int64", "uint32", "uint64", "float", "double":
		return "1"
	case "phone", "phone-number", "e164":
		return "+46701740605"
	}
	return ""
}

// fits reports whether the text has a length within the bounds, in characters.
func fits(made string, least, most int) bool {
	n := utf8.RuneCountInString(made)
	return n >= least && n <= most
}
