package webform_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check/webform"
)

func at(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func parse(t *testing.T, page string) *webform.Page {
	t.Helper()
	parsed, err := webform.Parse([]byte(page), at(t, "https://shop.example/orders/new?x=1#top"))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestPressTakesWhatBrowsersSend(t *testing.T) {
	t.Parallel()
	const long = `<form><input name=q></form>
		<form id=order method=POST action="/orders">
		<input type=HIDDEN name=token value="a&amp;b"><input name=amount value=5><input name=none disabled value=1>
		<input value="without a name"><input type=checkbox name=gift checked><input type=checkbox name=card value=yes>
		<input type=radio name=size value=s><input type=radio name=size value=m checked>
		<input type=file name=scan><input type=button name=b value=1><input type=reset name=r value=1>
		<textarea name=note>
a &lt;b&gt;</textarea>
		<select name=currency><option disabled>XX<option> S E
		 K <option selected value=EUR>Euro</select>
		<select name=unit><option disabled>none<option>kg<option>g</select>
		<select name=tag multiple><option selected>a<option>b<option selected>c</select>
		<select name=city><optgroup disabled><option>Ys</optgroup><optgroup><option>Rome</optgroup></select>
		<fieldset disabled><legend><input name=inlegend value=1></legend><input name=off value=1><legend><input name=off2></legend></fieldset>
		<template><input name=later value=1></template><datalist><option value=1></datalist>
		<noscript><input type=hidden name=noscript value=1></noscript><script>"<input name=script>"</script>
		<input type=image name=picture src=x><button name=do value=save>Save</button>
		<button name=do2 value=draft formaction=/drafts formenctype=text/plain>Draft</button><button type=button name=nothing>x</button>
		</form><input name=outside value=1><input form=order name=far value=1><input form=gone name=lost value=1>`
	fields := []webform.Field{
		{Name: "token", Value: "a&b", Kind: webform.Hidden},
		{Name: "amount", Value: "5", Kind: webform.Text},
		{Name: "gift", Value: "on", Kind: "checkbox"},
		{Name: "size", Value: "m", Kind: "radio"},
		{Name: "scan", Kind: "file", File: &webform.File{}},
		{Name: "note", Value: "a <b>", Kind: webform.TextArea},
		{Name: "currency", Value: "EUR", Kind: webform.Select},
		{Name: "unit", Value: "kg", Kind: webform.Select},
		{Name: "tag", Value: "a", Kind: webform.Select},
		{Name: "tag", Value: "c", Kind: webform.Select},
		{Name: "city", Value: "Rome", Kind: webform.Select},
		{Name: "inlegend", Value: "1", Kind: webform.Text},
		{Name: "noscript", Value: "1", Kind: webform.Hidden},
	}
	far := webform.Field{Name: "far", Value: "1", Kind: webform.Text}
	page := parse(t, long)
	if len(page.Forms) != 2 || page.Forms[1].ID != "order" {
		t.Fatalf("forms: %+v", page.Forms)
	}
	form := &page.Forms[1]
	tests := map[string]struct {
		named []string
		want  webform.Submission
	}{
		"the first button is the picture": {nil, webform.Submission{
			Method: "POST", URL: at(t, "https://shop.example/orders"), Coding: webform.URLEncoded, Fields: append(slices.Clip(fields), far),
		}},
		"a button by its name": {[]string{"amount", "do"}, webform.Submission{
			Method: "POST", URL: at(t, "https://shop.example/orders"), Coding: webform.URLEncoded,
			Fields: append(slices.Clip(fields), webform.Field{Name: "do", Value: "save", Kind: webform.Submit}, far),
		}},
		"a button with a target of its own": {[]string{"do2"}, webform.Submission{
			Method: "POST", URL: at(t, "https://shop.example/drafts"), Coding: webform.PlainText,
			Fields: append(slices.Clip(fields), webform.Field{Name: "do2", Value: "draft", Kind: webform.Submit}, far),
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(form.Press(page.Base, tt.named), &tt.want); diff != "" {
				t.Errorf("submission (-got +want):\n%s", diff)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ page, method, to string }{
		"the page itself":   {`<form method=post>`, "POST", "https://shop.example/orders/new?x=1"},
		"relative":          {`<form method=post action=" save?a=1#f ">`, "POST", "https://shop.example/orders/save?a=1"},
		"elsewhere":         {`<form method=post action=//other.example/>`, "POST", "https://other.example/"},
		"from a base":       {`<base href=/a/><base href=/b/><form method=post action=c>`, "POST", "https://shop.example/a/c"},
		"no URL":            {`<form method=post action="http://[">`, "POST", "https://shop.example/orders/new?x=1"},
		"no method":         {`<form action=/search>`, "GET", "https://shop.example/search"},
		"an unknown method": {`<form method=put action=/search>`, "GET", "https://shop.example/search"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := parse(t, tt.page)
			got := page.Forms[0].Press(page.Base, nil)
			if diff := cmp.Diff([]string{got.Method, got.URL.String()}, []string{tt.method, tt.to}); diff != "" {
				t.Errorf("target (-got +want):\n%s", diff)
			}
		})
	}
}

// TestFormBetweenRows: the parser leaves a form between the rows of a table empty, but browsers send it.
func TestFormBetweenRows(t *testing.T) {
	t.Parallel()
	page := parse(t, `<table><tr><form method=post action=/a><td><input name=in value=1></td></form></tr></table><input name=out>`)
	want := []webform.Field{{Name: "in", Value: "1", Kind: webform.Text}}
	if diff := cmp.Diff(page.Forms[0].Press(page.Base, nil).Fields, want); diff != "" {
		t.Errorf("fields (-got +want):\n%s", diff)
	}
}

func TestParseRefusesDepth(t *testing.T) {
	t.Parallel()
	if _, err := webform.Parse([]byte(strings.Repeat("<div>", 1000)), at(t, "http://x/")); err == nil {
		t.Error("a page of a thousand levels was read")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`<form method=post><table><form><input name=a form=b><select><option>x<textarea>`)
	f.Add(`<fieldset disabled><legend><form id=x><button form=x name=b>`)
	base, _ := url.Parse("http://x/y")
	f.Fuzz(func(t *testing.T, text string) {
		page, err := webform.Parse([]byte(text), base)
		if err != nil {
			return
		}
		for i := range page.Forms {
			sent := page.Forms[i].Press(page.Base, nil)
			contentType, body := webform.Encode(webform.URLEncoded, "", sent.Fields)
			again, err := webform.ParseBody(contentType, body)
			if err != nil || len(again) != len(sent.Fields) {
				t.Errorf("%d fields became %d (%v): %s", len(sent.Fields), len(again), err, body)
			}
		}
	})
}
