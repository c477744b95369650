package rewrite_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
	"github.com/semel-dev/semel/internal/claimtest"
)

var noError = claimtest.NoError

// The marks that the tests insert: each is an element of the kind that is inserted in earnest.
const (
	formMark = `<input type="hidden" name="_semel" value="F">`
	sendMark = `<input type="hidden" name="_semel" value="S">`
	bodyMark = `<p class="semel-notice">B</p>`
)

// form and submitter are copies of a rewrite.Form and a rewrite.Submitter that can be kept.
type (
	form struct {
		Action, ID, Method string
		Inert              bool
	}
	submitter struct {
		FormAction, FormMethod, FormID string
		HasFormAction, HasFormMethod   bool
		Form                           *form
	}
)

func kept(f *rewrite.Form) *form {
	if f == nil {
		return nil
	}
	return &form{Action: string(f.Action), ID: string(f.ID), Method: f.Method, Inert: f.Inert}
}

// recorder inserts marks and keeps what it was asked.
type recorder struct {
	tokens

	forms      []form
	submitters []submitter
	bases      []string
	bodies     int
	noBody     bool
}

func (r *recorder) Form(f *rewrite.Form) []byte {
	r.forms = append(r.forms, *kept(f))
	return []byte(formMark)
}

func (r *recorder) Submitter(s *rewrite.Submitter) []byte {
	r.submitters = append(r.submitters, submitter{
		FormAction: string(s.FormAction), HasFormAction: s.HasFormAction, FormMethod: s.FormMethod, HasFormMethod: s.HasFormMethod,
		FormID: string(s.FormID), Form: kept(s.Form),
	})
	return []byte(sendMark)
}

func (r *recorder) Body() []byte {
	r.bodies++
	if r.noBody {
		return nil
	}
	return []byte(bodyMark)
}

func (r *recorder) Base(href string) { r.bases = append(r.bases, href) }

// rewritten is the page after the rewriter, written in pieces of some length (0: at once).
func rewritten(tb testing.TB, page string, piece int, options *rewrite.Options) (string, *recorder, rewrite.Stats) {
	tb.Helper()
	var out bytes.Buffer
	r := &recorder{}
	w := rewrite.NewWriter(&out, r, options)
	for rest := page; rest != ""; {
		n := len(rest)
		if piece > 0 {
			n = min(n, piece)
		}
		if got, err := w.Write([]byte(rest[:n])); err != nil || got != n {
			tb.Fatalf("Write of %d bytes: got %d, %v", n, got, err)
		}
		rest = rest[n:]
	}
	noError(tb, w.Close())
	return out.String(), r, w.Stats()
}

// Pages as they come out: at the mark F, S or B in braces, something is inserted. What comes in is the same
// without the braces.
var pages = map[string]string{
	"a form":                      `<form method=post>{F}<p></form>`,
	"upper case":                  `<FORM METHOD="POST">{F}`,
	"a form with get":             `<form>{F}`,
	"two forms":                   `<form>{F}</form><form>{F}</form>`,
	"no form but a longer name":   `<formx><form-a><for m><form` + "\x00" + `>`,
	"attributes in all quotings":  `<form a='>' b=">" c=/x'y" d = "'>" e>{F}`,
	"slashes and line ends":       "<form/a/\r\nb\t=\f'>'/>{F}",
	"an equals sign as a name":    `<form ="a" b=">">{F}`,
	"quotes in a name":            `<form a"=">" b'>{F}`,
	"no space between attributes": `<form a="x"b='>'c>{F}`,
	"less-than in a tag":          `<form a=<form b="<form>">{F}`,
	"a value that is missing":     `<form a=>{F}">`,
	"unquoted with a quote":       `<form a=b">{F}">`,
	"not a tag":                   `< form><3<<form>{F}`,
	"an end tag":                  `</form></form >< /form><form>{F}`,

	"a comment":                         `<!-- <form> --><form>{F}`,
	"comments that are short":           `<!--><form>{F}</form><!---><form>{F}</form><!----><form>{F}`,
	"a comment with dashes":             `<!--- <form> - -- > --- <form> ---><form>{F}`,
	"a comment that ends in a bang":     `<!-- <form> --!><form>{F}`,
	"a comment that does not":           `<!-- --! > <form> --!- <form> --!-><form> --!--><form>{F}`,
	"a comment in a comment":            `<!-- <!-- <form> --><form>{F}`,
	"a broken comment":                  `<!- <form> <form>{F}</form><!-><form>{F}`,
	"a bogus comment":                   `<? <form> <form>{F}</form></ <form> <form>{F}</form><!x "<form> <form>{F}</form></3><form>{F}`,
	"a doctype":                         `<!DOCTYPE html PUBLIC "<form" 'x><form>{F}`,
	"an end tag without a name":         `</><form>{F}`,
	"CDATA in HTML is a bogus comment":  `<![CDATA[ <form> <form>{F}</form> ]]>`,
	"a comment that does not end":       `<!-- <form> -`,
	"a tag that does not end":           `<form method=post`,
	"a tag that does not end in quotes": `<form method="post> <form>`,
	"a script that does not end":        `<script><form>`,
	"an input that does not end":        `<input type=submit formaction=/x`,
	"a less-than at the end":            `<form>{F}<`,

	"style":                      `<style><form></styl><form></style x="<form>"><form>{F}`,
	"title":                      `<title><form></TITLE/><form>{F}`,
	"textarea":                   `<textarea><!-- </textarea><form>{F}<!-- </textarea> -->`,
	"xmp":                        `<xmp><form></xmp><form>{F}`,
	"iframe":                     `<iframe><form></iframe><form>{F}`,
	"noembed":                    `<noembed><form></noembed><form>{F}`,
	"noframes":                   `<noframes><form></noframes><form>{F}`,
	"plaintext":                  `<form>{F}<plaintext></form><form></plaintext><form>`,
	"raw text that seems to end": `<style></style<></stylex></ style><</style><form>{F}`,
	"raw text in upper case":     "<STYLE><form></sTyLe\n><form>{F}",
	"raw text with a slash":      `<style/><form></style><form>{F}`,

	"a script":                     `<script>"<form>"; a</script><form>{F}`,
	"a script in a string":         `<script>"</script><form>{F}"`,
	"a script in a comment":        `<script><!-- <form> </script><form>{F}`,
	"a script in a script":         `<script><!-- <script> </script> <form> --> <form> </script><form>{F}`,
	"a script in a script, ended":  `<script><!-- <script> </script> <form> </script><form>{F}`,
	"a script that is not in one":  `<script><!-- <scriptx> </script><form>{F}`,
	"a script behind a comment":    `<script><!-- --> <script> </script><form>{F}`,
	"a script, comment cut short":  `<script><!--> <script> </script><form>{F}`,
	"a script, comment of dashes":  `<script><!---> <script> </script><form>{F}`,
	"a script, doubly escaped end": `<script><!--<script>--></script><form>{F}`,
	"a script, upper case":         `<SCRIPT><!--<SCRIPT/</SCRIPT <form></ScRiPt><form>{F}`,
	"a script, less-than twice":    `<script><<!--<<script></script><form></script><form>{F}`,
	"a script, no such end":        `<script></scripts></script-></scrip></script/><form>{F}`,

	"a form in a form":           `<form>{F}<form></form><form>{F}`,
	"a form in a table":          `<table><form>{F}<tr><td><form></table></form><form>{F}`,
	"a template":                 `<template><form>{F}</form></template>`,
	"a template in a form":       `<form>{F}<template><form>{F}</form><form>{F}</template><form></form><form>{F}`,
	"templates in templates":     `<template><form>{F}<template><form>{F}</template></form></template><form>{F}`,
	"a template's end tag alone": `</template><form>{F}</template><form>`,
	"a form in a select":         `<select><option><form><button formaction=x></select><form>{F}`,
	"a select and an input":      `<select><option><input><form>{F}`,
	"a select in a select":       `<select><select><form>{F}`,

	"a noscript":                        `<noscript><form>{F}</form></noscript><form>{F}`,
	"a noscript with an open form":      `<noscript><form>{F}</noscript><form>{F}`,
	"a noscript that ends a form":       `<form>{F}<noscript></form><form>{F}</noscript><form>`,
	"a noscript with a comment":         `<noscript><!-- <form> </noscript><form>{F} -->`,
	"a noscript with an attribute":      `<noscript><a title="</noscript><form>{F}">`,
	"a noscript with raw text":          `<noscript><style><form></noscript><form>{F}`,
	"a noscript with a tag":             `<noscript><form a="</noscript><form>{F}`,
	"a noscript with an unfinished one": `<noscript><form </noscript><form>{F}`,
	"a noscript in a noscript":          `<noscript><noscript><form>{F}</noscript></form><form>{F}`,
	"a noscript with a template":        `<noscript><template></noscript><form>{F}<form>`,
	"a noscript and what is not":        `<noscript></noscriptx><!--</noscript-><form>--></noscript><form>{F}`,
	"a noscript in a script":            `<script>"<noscript>"</script><form>{F}</noscript>`,

	"a form in svg":                   `<svg><form></form></svg><form>{F}`,
	"svg with a form that ends alone": `<svg><desc><form>{F}<div></form></desc><form>{F}`,
	"svg that closes itself":          `<svg/><form>{F}`,
	"svg with CDATA":                  `<svg><![CDATA[ <form> ]] > ]>]]]><path/></svg><form>{F}`,
	"svg with almost CDATA":           `<svg><![cdata[ <form>]]><![CDAT[<form>]]></svg><form>{F}`,
	"svg with style":                  `<svg><style><p></style><form>{F}`,
	"svg with a script":               `<svg><script><p><form>{F}`,
	"svg with a title":                `<svg><title><form>{F}</form></title><form></svg><form>{F}`,
	"svg with foreignObject":          `<svg><foreignObject><div><form>{F}</form></div></foreignObject><form></svg><form>{F}`,
	"svg with CDATA in foreignObject": `<svg><foreignObject><![CDATA[ <form> ]]><p><![CDATA[ > <form>{F}`,
	"svg broken out of":               `<svg><g><p><form>{F}`,
	"svg with fonts":                  `<svg><font><form></font><font size=1><form>{F}`,
	"svg that its parent ends":        `<div><svg><g></div><form>{F}`,
	"svg with end tags of nothing":    `<svg><path></path></rect></g><form></svg><form>{F}`,
	"svg in svg":                      `<svg><svg></svg><form></svg><form>{F}`,
	"math":                            `<math><form><mi><form>{F}</form></mi><form></math><form>{F}`,
	"math with mglyph":                `<math><mi><mglyph><form></mglyph><form>{F}`,
	"math with an annotation":         `<math><annotation-xml><form></annotation-xml></math><form>{F}`,
	"math with an annotation in HTML": `<math><annotation-xml encoding="Text/HTML"><form>{F}`,
	"math with an annotation in svg":  `<math><annotation-xml><svg><desc><form>{F}`,
	"svg with a paragraph's end":      `<svg><g></p><form>{F}`,
	"svg with a form's end in it":     `<form>{F}<svg></form></svg><form>{F}`,

	"a body":                   `<html><body class="a>b">{B}<form>{F}<body>`,
	"a body in a template":     `<template><body></template><body>{B}`,
	"a body in a noscript":     `<noscript><body></noscript><body>{B}`,
	"a body in svg breaks out": `<svg><body>{B}`,

	"a button":                     `{S}<button formaction=/x>`,
	"a button of a type":           `<button type=button formaction=/x><button type=RESET formaction=/x>{S}<button type=submit formaction=/x>{S}<button type=? formaction>`,
	"an input":                     `<input formaction=/x><input type=text formaction=/x>{S}<input type=SUBMIT formaction=/x>{S}<input type=image formmethod=post>`,
	"a button that says nothing":   `<button><button type=submit form=a><input type=submit name=formaction>`,
	"a button behind less-than":    `<<{S}<button formaction=/x>`,
	"a button in a comment":        `<!--<button formaction=/x>--><textarea><button formaction=/x></textarea>`,
	"a button with a duplicate":    `<button type=button type=submit formaction=/x>{S}<button type=submit type=button formaction=/x>`,
	"a button in svg":              `<svg><button formaction=/x></svg>{S}<button formaction=/x>`,
	"a button in a noscript's tag": `<noscript><button formaction=</noscript>>{S}<button formaction=/x>`,
}

// xmlPages are pages of XHTML, marked like those of HTML. At the mark ! the rewriter gives up.
var xmlPages = map[string]string{
	"a form that closes itself":       `<form id="f"/>{F}<form>{F}</form><form/>{F}`,
	"a form in a form":                `<form>{F}<form>{F}</form></form><form>{F}</form>`,
	"a form in a form in a template":  `<form>{F}<template><form>{F}<form>{F}</form></form></template></form><form>{F}</form>`,
	"a form in a select":              `<select><form>{F}</form></select>`,
	"a form in svg":                   `<svg><g><foreignObject><form xmlns="x">{F}</form></foreignObject></g></svg><form>{F}</form>`,
	"elements that close themselves":  `<script/><style/><title/><textarea/><iframe/><noscript/><template/><select/><svg/><form>{F}</form>`,
	"elements of text in HTML":        `<xmp><form>{F}</form></xmp><noembed><form>{F}</form></noembed><plaintext>x</plaintext><form>{F}</form>`,
	"a script in a CDATA section":     `<script><![CDATA["</script><form>"]]></script><form>{F}</form>`,
	"a style in a CDATA section":      `<style><![CDATA[</style><script>]]></style><form>{F}</form>`,
	"a script with a comment":         `<script><!-- <script> --></script><form>{F}</form>`,
	"a noscript with a CDATA section": `<noscript><![CDATA[</noscript><!--]]></noscript><form>{F}</form>`,
	"a comment that begins with >":    `<!--> <form> --><form>{F}</form><!---> <form> -->`,
	"instructions":                    `<?x > <form> <!-- ? ?><form>{F}</form><?y??><form>{F}</form>`,
	"a doctype":                       `<!DOCTYPE html PUBLIC "[>'" 'x"[>'><form>{F}</form>`,
	"entities":                        `<!DOCTYPE html [<!ENTITY nbsp "&#160;"><!-- <form> --><?x <form> ?><!ENTITY gt '">['>]><form>{F}</form>`,
	"an entity with markup":           `<!DOCTYPE html [<!ENTITY f "{!}<form/>">]>&f;<form></form>`,
	"a prefix":                        `<h:form xmlns:h="x">{!}</h:form><form></form>`,
	"a prefix behind another form":    `<form>{F}</form><H:FORM>{!}<form></form></H:FORM>`,
	"a button with a prefix":          `{!}<h:button formaction="/x"/><form></form>`,
	"other elements with a prefix":    `<h:head></h:head><h:body><h:script/><h:input/><form>{F}</form></h:body>`,
}

// unmarked takes the braces out, and marked makes insertions of them.
var (
	unmarked = strings.NewReplacer("{F}", "", "{S}", "", "{B}", "")
	marked   = strings.NewReplacer("{F}", formMark, "{S}", sendMark, "{B}", bodyMark)
)

func TestWhereATagIsATag(t *testing.T) {
	t.Parallel()
	for kind, all := range map[string]map[string]string{"HTML": pages, "XML": xmlPages} {
		for name, page := range all {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				page, gaveUp := strings.ReplaceAll(page, "{!}", ""), strings.Contains(page, "{!}")
				for piece := range unmarked.Replace(page) {
					got, _, stats := rewritten(t, unmarked.Replace(page), piece, &rewrite.Options{XML: kind == "XML"})
					if diff := cmp.Diff(marked.Replace(page), got); diff != "" {
						t.Errorf("in pieces of %d (-want +got):\n%s", piece, diff)
					}
					if want := strings.Count(page, "{"); stats.Inserted != want || gaveUp != (stats.GaveUp == rewrite.WrongXML) {
						t.Errorf("in pieces of %d: %d insertions counted, want %d; gave up because of %q", piece, stats.Inserted, want, stats.GaveUp)
					}
				}
			})
		}
	}
}
