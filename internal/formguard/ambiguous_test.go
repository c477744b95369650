package formguard_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/formguard"
)

// Some reader takes each of these for the field's name.
func TestStripFindsEverySpellingOfTheName(t *testing.T) {
	t.Parallel()
	for _, header := range []string{
		`Content-Disposition: form-data; name="_semel"`,
		`content-disposition:form-data;name="_semel"`,
		`CONTENT-DISPOSITION : FORM-DATA ; NAME="_semel"`,
		`Content-Disposition: form-data; name=_semel`,
		`Content-Disposition: form-data; name=_semel; x=y`,
		`Content-Disposition: form-data; name = "_semel"`,
		`Content-Disposition: form-data; name='_semel'`,
		`Content-Disposition: form-data; name="\_semel"`,
		`Content-Disposition: form-data; name="_sem\el"`,
		`Content-Disposition: form-data; name="%5Fsemel"`,
		`Content-Disposition: form-data; name*=utf-8''_semel`,
		`Content-Disposition: form-data; name*=utf-8'en'%5fsemel`,
		`Content-Disposition: form-data; name*0="_se"; name*1="mel"`,
		`Content-Disposition: form-data; name="=?utf-8?q?=5Fsemel?="`,
		`Content-Disposition: form-data; name="a"; name="_semel"`,
		`Content-Disposition: form-data; name="_semel"; name="a"`,
		`Content-Disposition: form-data; filename="a.txt"; name="_semel"`,
		`Content-Disposition: form-data; name="_semel"; filename="a.txt"`,
		`Content-Disposition: attachment; name="_semel"`,
		`Content-Disposition: form-data; name="_semel`,
		`Content-Disposition: form-data; name=" _semel "`,
		"Content-Disposition: form-data;\r\n name=\"_semel\"",
		"Content-Disposition: form-data;\n\tname=\"_semel\"",
		"X: y\r\nContent-Disposition: form-data; name=\"_semel\"",
		"X: y\r\r\nContent-Disposition: form-data; name=\"_semel\"",
		"X: y\rContent-Disposition: form-data; name=\"_semel\"",
		"Content-Disposition: form-data; name=\"a\"\r\nContent-Disposition: form-data; name=\"_semel\"",
		"Content-Type: text/plain; charset=utf-16\r\nContent-Disposition: form-data; name=\"_semel\"",
	} {
		body := part("a", "1") + "--XX\r\n" + header + "\r\n\r\n" + tok + "\r\n" + part("b", "2") + end
		if got, want := strip(t, mixed, "", body), part("a", "1")+part("b", "2")+end; got != want {
			t.Errorf("%q: got %q", header, got)
		}
	}
}

func TestStripDecodesTheValueAsReadersDo(t *testing.T) {
	t.Parallel()
	for coding, value := range map[string]string{
		"quoted-printable": "=73m1=2ETOKEN",
		"base64":           "c20xLlRPS0VO",
		"binary":           tok,
	} {
		body := "--XX\r\nContent-Disposition: form-data; name=\"_semel\"\r\nContent-Transfer-Encoding: " + coding + "\r\n\r\n" + value + "\r\n" + end
		if got := strip(t, mixed, "", body); got != end {
			t.Errorf("%s: got %q", coding, got)
		}
	}
}

// Some reader takes each of these for the beginning of a part.
func TestStripFindsEveryDelimiter(t *testing.T) {
	t.Parallel()
	head := "\r\nContent-Disposition: form-data; name=\"_semel\"\r\n\r\n" + tok
	for name, body := range map[string]string{
		"padding":            "--XX \t" + head + "\r\n--XX--",
		"much padding":       "--XX" + strings.Repeat(" ", 5000) + head + "\r\n--XX--",
		"text behind it":     "--XXY" + head + "\r\n--XX--",
		"behind the end":     "--XX--" + head,
		"inside a line":      "hello --XX" + head + "\n--XX--",
		"behind a CR":        "hello\r--XX" + lf(head) + "\n--XX--",
		"LF among CR LF":     part("a", "1") + "x\n--XX" + lf(head) + "\n" + part("b", "2") + end,
		"no end":             "--XX" + head,
		"hyphens before it":  "-----XX" + head + "\r\n--XX--",
		"in another's value": part("a", "1\r\n--XX"+head) + end,
	} {
		if got := strip(t, mixed, "", body); strings.Contains(got, tok) {
			t.Errorf("%s: %q leaves %q", name, body, got)
		}
	}
}

// What looks like a token field only on paper is content.
func TestStripLeavesTextsAboutTokens(t *testing.T) {
	t.Parallel()
	paste := "--YY\r\nContent-Disposition: form-data; name=\"_semel\"\r\n\r\n" + tok
	for _, body := range []string{
		part("note", paste) + end,
		part("note", "Content-Disposition: form-data; name=_semel\r\n\r\n"+tok) + end,
		part("note", tok) + end,
		part("_semel", "x"+tok) + end,
		part("_semel", "x\r\n"+tok) + end,
		part("_semel2", tok) + end,
		part("_semel", "sm1."+strings.Repeat("x", 300)) + end,
		part("_semel", "sm1."+strings.Repeat("x", 300_000)) + end,
	} {
		if got := strip(t, mixed, "", body); got != body {
			t.Errorf("%.200q: got %.200q", body, got)
		}
		if got := scan(t, mixed, "", body, nil); got.Found || got.Length != int64(len(body)) {
			t.Errorf("%.200q: found %q, length %d of %d", body, got.Tokens, got.Length, len(body))
		}
	}
}

// A form about which readers may disagree so much that a token passes unseen is
// refused, by both.
func TestAmbiguousFormsAreRefused(t *testing.T) {
	t.Parallel()
	form := part("a", "1") + part("_semel", tok) + end
	long := "--XX\r\nX: " + strings.Repeat("x", 9000) + "\r\nContent-Disposition: form-data; name=\"_semel\"\r\n\r\n" + tok + "\r\n" + end
	folded := "--XX\r\nContent-Disposition: form-data;" + strings.Repeat("\r\n x=y;", 1500) + " name=\"_semel\"\r\n\r\n" + tok + "\r\n" + end
	split := "--XX\r\nX: y\r\r\n" + strings.Repeat("X: y\r\n", 1500) + "Content-Disposition: form-data; name=\"_semel\"\r\n\r\n" + tok + "\r\n" + end
	for name, x := range map[string]struct{ contentType, body string }{
		"two boundaries":       {"multipart/form-data; boundary=XX; boundary=YY", form},
		"twice the same":       {"multipart/form-data; boundary=XX; boundary=XX", form},
		"boundary in a name":   {"multipart/form-data; xboundary=YY; boundary=XX", form},
		"boundary in a value":  {`multipart/form-data; x="boundary=YY"; boundary=XX`, form},
		"extended":             {"multipart/form-data; boundary*=utf-8''XX", form},
		"continued":            {"multipart/form-data; boundary*0=X; boundary*1=X", form},
		"extended and not":     {"multipart/form-data; boundary=YY; boundary*=utf-8''XX", form},
		"empty":                {"multipart/form-data; boundary=", form},
		"quotes open":          {`multipart/form-data; boundary="XX`, form},
		"semicolon in quotes":  {`multipart/form-data; boundary="XX;YY"`, form},
		"comma":                {"multipart/form-data; boundary=XX,YY", form},
		"escape":               {`multipart/form-data; boundary="X\X"`, form},
		"space before":         {"multipart/form-data; boundary= XX", form},
		"space behind":         {"multipart/form-data; boundary=XX ; charset=utf-8", form},
		"boundary of 2000":     {"multipart/form-data; boundary=" + strings.Repeat("X", 2000), form},
		"long header":          {mixed, long},
		"long header, folded":  {mixed, folded},
		"header with a bad CR": {mixed, split},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := formguard.Scan(strings.NewReader(x.body), x.contentType, "", nil); !errors.Is(err, formguard.ErrAmbiguous) {
				t.Errorf("Scan: got %v, want ErrAmbiguous", err)
			}
			if got, err := io.ReadAll(formguard.Strip(strings.NewReader(x.body), x.contentType, "")); !errors.Is(err, formguard.ErrAmbiguous) || strings.Contains(string(got), tok) {
				t.Errorf("Strip: got %q, %v, want ErrAmbiguous", got, err)
			}
		})
	}
}

// Forms that say the same in another way are the same.
func TestDigestOfTheSameForm(t *testing.T) {
	t.Parallel()
	base := scan(t, mixed, "", part("a", "1")+part("b", "2")+end, nil).Digest
	for name, x := range map[string]struct{ contentType, body string }{
		"another boundary": {"multipart/form-data; boundary=----Y", strings.ReplaceAll(part("a", "1")+part("b", "2")+end, "--XX", "------Y")},
		"in quotes":        {`multipart/form-data; boundary="XX"`, part("a", "1") + part("b", "2") + end},
		"a charset":        {"multipart/form-data; charset=UTF-8; boundary=XX", part("a", "1") + part("b", "2") + end},
		"changing fields":  {mixed, part("_token", "x") + part("a", "1") + part("csrf_token", "abc/=") + part("b", "2") + part("_csrf", "") + end},
	} {
		if got := scan(t, x.contentType, "", x.body, nil).Digest; got != base {
			t.Errorf("%s: another digest", name)
		}
	}
	long := "------WebKitFormBoundaryAbC0\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n------WebKitFormBoundaryAbC0--\r\n"
	one := scan(t, "multipart/form-data; boundary=----WebKitFormBoundaryAbC0", "", long, nil).Digest
	if other := scan(t, mixed, "", part("a", "1")+end, nil).Digest; one != other {
		t.Error("Chromium's boundary counts")
	}
}

// Two forms in which some reader finds different things have two digests.
func TestDigestTellsFormsApart(t *testing.T) {
	t.Parallel()
	type form struct{ contentType, query, body string }
	forms := map[string]form{
		"plain":                  {mixed, "", part("a", "1") + end},
		"other value":            {mixed, "", part("a", "2") + end},
		"other query":            {mixed, "x", part("a", "1") + end},
		"other charset":          {mixed + "; charset=latin1", "", part("a", "1") + end},
		"no end":                 {mixed, "", part("a", "1")},
		"end without line end":   {mixed, "", part("a", "1") + "--XX--"},
		"epilogue":               {mixed, "", part("a", "1") + end + "b"},
		"empty part":             {mixed, "", part("a", "1") + "--XX\r\n\r\n" + end},
		"part behind the end":    {mixed, "", part("a", "1") + end + part("b", "2")},
		"LF":                     {mixed, "", lf(part("a", "1") + end)},
		"preamble":               {mixed, "", "b\r\n" + part("a", "1") + end},
		"padding":                {mixed, "", "--XX " + part("a", "1")[4:] + end},
		"longer delimiter":       {mixed, "", part("a", "1\r\n--XXY") + end},
		"its boundary":           {"multipart/form-data; boundary=ZZ", "", strings.ReplaceAll(part("a", "1"), "--XX", "--ZZ") + "--ZZY\r\n--ZZ--\r\n"},
		"another's boundary":     {"multipart/form-data; boundary=WW", "", strings.ReplaceAll(part("a", "1"), "--XX", "--WW") + "--WWY\r\n--WW--\r\n"},
		"empty":                  {mixed, "", ""},
		"end only":               {mixed, "", end},
		"other boundary, raw":    {"multipart/form-data; boundary=QQ", "", part("a", "1") + end},
		"no boundary":            {"multipart/form-data", "", part("a", "1") + end},
		"as text":                {textPlain, "", part("a", "1") + end},
		"as raw":                 {"application/octet-stream", "", part("a", "1") + end},
		"as pairs":               {urlencoded, "", part("a", "1") + end},
		"token in two lines":     {mixed, "", part("a", "1") + part("csrf_token", "1\r\n2") + end},
		"token with LF":          {mixed, "", part("a", "1") + part("csrf_token", "1\n2") + end},
		"token in a file":        {mixed, "", part("a", "1") + strings.Replace(part("csrf_token", "1"), `"csrf_token"`, `"csrf_token"; filename="x"`, 1) + end},
		"token, unquoted":        {mixed, "", part("a", "1") + strings.Replace(part("csrf_token", "1"), `"csrf_token"`, `csrf_token`, 1) + end},
		"token, another type":    {mixed, "", part("a", "1") + strings.Replace(part("csrf_token", "1"), "\r\n\r\n", "\r\nContent-Type: x/y\r\n\r\n", 1) + end},
		"token, 10 kB":           {mixed, "", part("a", "1") + part("csrf_token", strings.Repeat("x", 10_000)) + end},
		"token, unclear form":    {mixed, "", part("a", "1") + part("csrf_token", "1") + end + "x"},
		"token, unclear form 2":  {mixed, "", part("a", "1") + part("csrf_token", "2") + end + "x"},
		"token before, unclear":  {mixed, "", part("csrf_token", "2") + part("a", "1") + end + "x"},
		"token behind the end":   {mixed, "", part("a", "1") + end + part("csrf_token", "1")},
		"pairs":                  {urlencoded, "", "a=1&b=2"},
		"pairs, reversed":        {urlencoded, "", "b=2&a=1"},
		"pairs, other spelling":  {urlencoded, "", "a=1&%62=2"},
		"pair with ampersand":    {urlencoded, "", "a=1%26b=2"},
		"pair in the query":      {urlencoded, "a=1", "b=2"},
		"pairs, another charset": {urlencoded + ";charset=utf-16", "", "a=1&b=2"},
		"hidden behind a token":  {urlencoded, "", "a=1&b=2&csrf_token=1;c=3"},
		"hidden, other":          {urlencoded, "", "a=1&b=2&csrf_token=1;c=4"},
		"hidden behind a line":   {urlencoded, "", "a=1&b=2&csrf_token=1\nc=3"},
		"hidden behind a NUL":    {urlencoded, "", "a=1&b=2&csrf_token=1\x00c=3"},
		"broken escape":          {urlencoded, "", "a=1&b=2&csrf_token=%zz"},
		"array of tokens":        {urlencoded, "", "a=1&b=2&csrf_token[]=1"},
		"lines":                  {textPlain, "", "a=1\r\nb=2\r\n"},
		"lines, a token":         {textPlain, "", "a=1\r\ncsrf_token=1\r\nb=2\r\n"},
		"lines, other token":     {textPlain, "", "a=1\r\ncsrf_token=2\r\nb=2\r\n"},
		"lines, LF":              {textPlain, "", "a=1\nb=2\n"},
	}
	seen := map[[32]byte]string{}
	for name, x := range forms {
		digest := scan(t, x.contentType, x.query, x.body, nil).Digest
		if other, twice := seen[digest]; twice {
			t.Errorf("%q and %q have one digest", name, other)
		}
		seen[digest] = name
	}
}
