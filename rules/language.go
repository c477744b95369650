package rules

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// defaultLanguage is the language of who asks for none that Semel speaks.
const defaultLanguage = "en"

// maxLanguages bounds how many entries of an Accept-Language are looked at.
const maxLanguages = 32

// Languages lists the languages that Semel's own texts are written in: English,
// Swedish, Hindi and Chinese.
func Languages() []string { return []string{"en", "sv", "hi", "zh"} }

// Language picks the language that a caller likes best, of those that Semel
// speaks, from the value of an Accept-Language header: "sv-SE, en;q=0.8" is sv.
// It is [defaultLanguage] when there is none.
func Language(acceptLanguage string) string {
	type wish struct {
		lang    string
		quality float64
	}
	var wishes []wish
	for i, entry := range strings.SplitN(acceptLanguage, ",", maxLanguages+1) {
		if i == maxLanguages {
			break
		}
		tag, rest, _ := strings.Cut(entry, ";")
		w := wish{lang: spoken(strings.TrimSpace(tag)), quality: 1}
		if value, ok := strings.CutPrefix(strings.TrimSpace(rest), "q="); ok {
			w.quality, _ = strconv.ParseFloat(value, 64) // 0 for a malformed number: not wanted
		}
		if w.lang != "" && w.quality > 0 {
			wishes = append(wishes, w)
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.quality, a.quality) })
	if len(wishes) == 0 {
		return defaultLanguage
	}
	return wishes[0].lang
}

// spoken is the language of a tag, such as sv of sv-SE, or "" when Semel does
// not speak it.
func spoken(tag string) string {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	if slices.Contains(Languages(), base) {
		return base
	}
	return ""
}
