package rewrite

import "strings"

// Supported is whether pages in a charset can be rewritten as bytes, as the Content-Type or a meta element names it. An
// empty name and one that no browser knows count as supported: browsers then choose among charsets that all are.
//
// What has to hold is that no byte of another character can be mistaken for one that ends or begins something in markup:
//
//	" 22  & 26  ' 27  - 2D  / 2F  ; 3B  < 3C  = 3D  > 3E  ? 3F  ! 21  and white space
//
// Of the charsets with more than one byte for a character, by the Encoding standard of the WHATWG:
//
//	UTF-8            every byte of a longer character is 80 or more
//	Shift_JIS        lead 81-9F E0-FC, trail 40-7E 80-FC
//	EUC-JP           lead 8E 8F A1-FE, trail A1-FE
//	EUC-KR           lead 81-FE, trail 41-FE
//	Big5             lead 81-FE, trail 40-7E A1-FE
//	GBK              lead 81-FE, trail 40-7E 80-FE
//	GB18030          the same, and four bytes 81-FE 30-39 81-FE 30-39: digits, which end and begin nothing
//
// A decoder that meets a lead byte without its trail gives an ASCII byte behind it back, so that "<" stays "<" there as well.
// Trail bytes may be letters or "]". Letters make no name: the lead byte before them does not belong to any. Only "]]>"
// at the end of a CDATA section in svg can be mistaken, when it follows a character that ends in 5D.
//
// Not supported are UTF-16 and UTF-32, ISO-2022 and HZ, in which ASCII bytes mean other characters after a shift,
// UTF-7, SCSU and EBCDIC.
func Supported(charset string) bool {
	name := strings.ToLower(strings.Trim(charset, "\"' \t\n\f\r"))
	switch name {
	case "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8": // names of UTF-8
		return true
	case "replacement":
		return false
	}
	for _, prefix := range []string{
		"utf-16", "utf16", "utf-32", "utf32", "ucs", "iso-10646", "unicode", "csunicode", "csucs",
		"iso-2022", "iso2022", "csiso2022", "hz",
		"utf-7", "utf7", "csutf7", "scsu", "csscsu", "bocu", "csbocu",
		"ebcdic", "cp037", "ibm037", "cp500", "ibm500", "cp1026", "ibm1026", "cp1047", "ibm1047", "ibm-1047", "cp1140", "ibm1140", "ibm01140",
	} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// The byte order marks, which outweigh every declaration.
const (
	markUTF8    = "\xEF\xBB\xBF"
	markUTF16BE = "\xFE\xFF"
	markUTF16LE = "\xFF\xFE"
)

// marks looks for a byte order mark in the first bytes of a page.
type marks struct {
	first [len(markUTF8)]byte
	n     int
}

// see takes bytes of the page, and says whether the first ones are known.
func (m *marks) see(p []byte) bool {
	m.n += copy(m.first[m.n:], p)
	return m.n == len(m.first)
}

func (m *marks) utf8() bool { return string(m.first[:m.n]) == markUTF8 }

func (m *marks) utf16() bool {
	mark := string(m.first[:min(m.n, len(markUTF16BE))])
	return mark == markUTF16BE || mark == markUTF16LE
}

// declares returns the charset that a meta element declares, or "".
func declares(tag []byte) string {
	charset, equiv, content := attribute{name: "charset"}, attribute{name: "http-equiv"}, attribute{name: "content"}
	find(tag, nil, &charset, &equiv, &content)
	if charset.has {
		return string(charset.value)
	}
	if !equalFold(equiv.value, "content-type") {
		return ""
	}
	_, value, _ := strings.Cut(strings.ToLower(string(content.value)), "charset")
	value, found := strings.CutPrefix(strings.TrimLeft(value, " \t\n\f\r"), "=")
	if !found {
		return ""
	}
	value = strings.Trim(value, " \t\n\f\r\"'")
	if end := strings.IndexAny(value, "; \t\n\f\r\"'"); end >= 0 {
		value = value[:end]
	}
	return value
}

// shifts is whether a charset that a meta element declares gives ASCII bytes another meaning. What it says of UTF-16 is
// wrong, since it could not be read then; browsers take it for UTF-8. They do not know the rest.
func shifts(charset string) bool {
	name := strings.ToLower(strings.TrimSpace(charset))
	return strings.HasPrefix(name, "iso-2022") || strings.HasPrefix(name, "csiso2022") || name == "hz-gb-2312" || name == "replacement"
}
