package gateway

import (
	"strings"

	"golang.org/x/text/language"
)

// notice is what a reader is told whose form had been sent before.
type notice struct {
	tag  language.Tag
	text string
}

// notices are the texts, by language; the first is for everybody else.
func notices() []notice {
	return []notice{
		{language.English, "This form had already been sent. It was carried out once; this is its result."},
		{language.Swedish, "Formuläret hade redan skickats. Det utfördes bara en gång; här är resultatet."},
		{language.Hindi, "यह फ़ॉर्म पहले ही भेजा जा चुका था। काम एक ही बार हुआ; यह उसी का परिणाम है।"},
		{language.Chinese, "此表单已经提交过，操作只执行了一次，以下是结果。"},
	}
}

// noticeFor returns the notice in the language of the page, if it is one of ours,
// else in the one that the reader likes best.
func noticeFor(page string, accepted []string) notice {
	all := notices()
	tags := make([]language.Tag, len(all))
	for i := range all {
		tags[i] = all[i].tag
	}
	matcher := language.NewMatcher(tags)
	if page != "" {
		if tag, err := language.Parse(page); err == nil {
			if _, i, sure := matcher.Match(tag); sure >= language.High {
				return all[i]
			}
		}
	}
	wanted, _, err := language.ParseAcceptLanguage(strings.Join(accepted, ","))
	if err != nil {
		return all[0]
	}
	_, i, _ := matcher.Match(wanted...)
	return all[i]
}

// noticeStyle is for pages of any look: a line of its own, in the page's font.
const noticeStyle = "margin:0;padding:.75em 1em;border-bottom:2px solid;background:Canvas;color:CanvasText"

// markup is the notice as it stands in a page. Where a policy says what styles a
// page may have, it has none but the page's.
func (n notice) markup(policy bool) string {
	style := ""
	if !policy {
		style = ` style="` + noticeStyle + `"`
	}
	return `<p class="semel-notice" role="status" lang="` + n.tag.String() + `"` + style + `>` + n.text + `</p>`
}
