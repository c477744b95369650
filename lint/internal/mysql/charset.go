package mysql

import (
	"strings"

	"github.com/sqlc-dev/marino/charset"
)

// standIns are collations of the parser that take the place of those that it does not know. Each is
// shorter than those of MariaDB.
var standIns = []string{ //nolint:gochecknoglobals // constant
	"geostd8_bin", "keybcs2_bin", "tis620_bin", "hebrew_bin", "euckr_bin", "swe7_bin", "hp8_bin", "dec8_bin",
}

// knownCharset returns what the parser gets for a word: itself, unless it is a collation or the character set
// of a column or table that it does not know.
func (s *source) knownCharset(text string, i int) string {
	written := text[s.tokens[i].start:s.tokens[i].end]
	before := i - 1
	if lower(text, s.tokens[before]) == "=" && before > 0 {
		before--
	}
	called := strings.ToLower(strings.Trim(written, "'\"`"))
	switch lower(text, s.tokens[before]) {
	case "collate":
		if _, err := charset.GetCollationByName(called); err == nil || called == "default" {
			return written
		}
		return s.standIn(called, written)
	case "charset", "set":
		first := lower(text, s.tokens[0])
		if first != "create" && first != "alter" || len(written) < len(charset.CharsetGBK) {
			return written
		}
		if lower(text, s.tokens[before]) == "set" && (before == 0 || !strings.HasPrefix(lower(text, s.tokens[before-1]), "char")) {
			return written
		}
		if _, err := charset.GetCharsetInfo(called); err == nil || !otherCharsets[called] {
			return written
		}
		return padded(charset.CharsetGBK, written)
	}
	return written
}

// otherCharsets are those of the servers that the parser refuses. What they are changes nothing: their
// collations are not known unless they are written.
var otherCharsets = map[string]bool{ //nolint:gochecknoglobals // constant
	"armscii8": true, "big5": true, "cp1250": true, "cp1251": true, "cp1256": true, "cp1257": true, "cp850": true,
	"cp852": true, "cp866": true, "cp932": true, "dec8": true, "eucjpms": true, "euckr": true, "gb2312": true,
	"geostd8": true, "greek": true, "hebrew": true, "keybcs2": true, "koi8r": true, "koi8u": true, "latin2": true,
	"latin5": true, "latin7": true, "macce": true, "macroman": true, "sjis": true, "swe7": true, "tis620": true,
	"ucs2": true, "ujis": true, "utf16": true, "utf16le": true, "utf32": true,
}

// standIn returns the known collation that takes the place of an unknown one.
func (s *source) standIn(called, written string) string {
	for _, known := range standIns {
		taken, ok := s.collate[known]
		if len(known) <= len(written) && (!ok || taken == called) {
			s.collate[known] = called
			return padded(known, written)
		}
	}
	return written
}

// padded returns a word as long as the other.
func padded(word, other string) string {
	return word + strings.Repeat(" ", len(other)-len(word))
}

// collation returns the name that was written for one that the parser returns.
func (s *source) collation(parsed string) string {
	parsed = strings.ToLower(parsed)
	if written, ok := s.collate[parsed]; ok {
		return written
	}
	return parsed
}
