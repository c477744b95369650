package gormmodel

import (
	"strings"

	"github.com/jinzhu/inflection"
)

// initialisms are words that GORM keeps together in a name: HTTPServer is http_server, UserIDs is user_ids.
//
//nolint:gochecknoglobals // constant
var initialisms = func() *strings.Replacer {
	var pairs []string
	for word := range strings.FieldsSeq("API ASCII CPU CSS DNS EOF GUID HTML HTTP HTTPS ID IP JSON LHS QPS RAM RHS RPC SLA SMTP SSH TLS TTL UID UI UUID URI URL UTF8 VM XML XSRF XSS") {
		pairs = append(pairs, word, word[:1]+strings.ToLower(word[1:]))
	}
	return strings.NewReplacer(pairs...)
}()

// TableName is the name that GORM's default naming strategy gives the table of a type.
func TableName(name string) string { return inflection.Plural(ColumnName(name)) }

// ColumnName is the name that GORM's default naming strategy gives the column of a field.
func ColumnName(name string) string {
	if name == "" {
		return ""
	}
	value := initialisms.Replace(name)
	upper := func(i int) bool { return i >= 0 && i < len(value) && value[i] >= 'A' && value[i] <= 'Z' }
	digit := func(i int) bool { return i < len(value) && value[i] >= '0' && value[i] <= '9' }
	var b strings.Builder
	last := len(value) - 1
	for i := range len(value) {
		switch {
		case !upper(i):
			b.WriteByte(value[i])
			continue
		case i == last:
			if !upper(i-1) && i > 0 {
				b.WriteByte('_')
			}
		case upper(i-1) && (upper(i+1) || digit(i+1)):
		case i > 0 && value[i-1] != '_' && value[i+1] != '_':
			b.WriteByte('_')
		}
		b.WriteByte(value[i] + ('a' - 'A'))
	}
	return b.String()
}
