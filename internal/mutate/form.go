package main

// formTokens name the intents of forms. Promises F1 to F7 stand in the mechanism, each beside the one of the ten that it
// keeps for browsers.
func formTokens() []mutant {
	const token = "formguard/token.go"
	return []mutant{
		{
			"form: the content is in the key (F1)", 6, "gateway/formkey.go",
			`a.name = formPrefix + token.Name() + ":" + base64.RawURLEncoding.EncodeToString(result.Digest[:])`,
			`a.name = formPrefix + token.Name() + ":" + base64.RawURLEncoding.EncodeToString(make([]byte, len(result.Digest)))`,
			"gateway",
			[]string{"TestFormIntents"},
			"",
		},
		{
			"form: only the named fields do not count (F1)", 6, "formguard/multipart.go",
			"if name, ok := plainPart(text); ok && m.ignores(name) {", "if _, ok := plainPart(text); ok {",
			"formguard",
			[]string{"TestDigestTellsFormsApart", "TestDigestVectors"},
			"",
		},
		{
			"form: a token is its reader's (F2)", 5, token, "appendSized(appendSized(covered, route), who)", "appendSized(covered, route)",
			"formguard",
			[]string{"TestTokenOfSomethingElseIsForeign"},
			"",
		},
		{
			"form: a token is its route's (F2)", 5, token, "appendSized(appendSized(covered, route), who)", "appendSized(covered, who)",
			"formguard",
			[]string{"TestTokenOfSomethingElseIsForeign"},
			"",
		},
		{
			"form: without a secret nothing runs (F6)", 10, "gateway/formkey.go", "	a.unverified = true\n	return nil, fmt.Errorf(\"form secret: %w\", err)", "	a.unverified = true\n	return nil, nil",
			"gateway",
			[]string{"TestFormWithoutSecret"},
			"",
		},
		{
			"form: a token has a lifetime (F2)", 2, token, "if lifetime <= 0 || m.now().Sub(token.Issued) > lifetime {", "if lifetime <= 0 {",
			"formguard",
			[]string{"TestTokenExpires"},
			"",
		},
	}
}

// formPages are kept apart by reader, and go out as they should.
func formPages() []mutant {
	return []mutant{
		{
			"form: tokens do not reach the application (F3)", 5, "gateway/formstrip.go",
			"		body = formguard.Strip(body, contentType, field)\n", "		_ = formguard.Strip(body, contentType, field)\n",
			"gateway",
			[]string{"TestStripEverywhere"},
			"",
		},
		{
			"form: the visitor cookie does not reach the application (F3)", 5, "gateway/formcookie.go",
			"			case visitorCookie:\n", "			case visitorCookie:\n				kept = append(kept, pair)\n",
			"gateway",
			[]string{"TestVisitorCookie", "TestPageIsFresh"},
			"",
		},
		{
			"form: no 304 brings a used token back (F5)", 5, "gateway/form.go",
			`[]string{"If-None-Match", "If-Modified-Since", "Range", "If-Range"}`, `[]string{"Range", "If-Range"}`,
			"gateway",
			[]string{"TestPageIsFresh"},
			"",
		},
		{
			"form: a page with tokens is private (F5)", 5, "gateway/formpage.go", `h["Cache-Control"] = privately(h["Cache-Control"])`, `_ = privately(h["Cache-Control"])`,
			"gateway",
			[]string{"TestPageHeader"},
			"",
		},
		{
			"form: a page is shown again to its own reader (F7)", 5, "gateway/formidentity.go", `{ return "visitor\n" + visitor }`, `{ return "visitor\n" }`,
			"gateway",
			[]string{"TestRestoreRedirect", "TestFormIdentities"},
			"",
		},
		{
			"form: the page hears what became of it (F7)", 7, "gateway/formresult.go", `p.Header().Add("Set-Cookie", outcomeLine(a.outcomes, p.secure()))`, "_ = outcomeLine(a.outcomes, p.secure())",
			"gateway",
			[]string{"TestFormOutcomes"},
			"",
		},
		{
			"form: a cookie puts nothing of its own into an answer (F7)", 5, "gateway/formcookie.go",
			"case wordExecuted, wordReplayed, wordSeen, wordInFlight, wordUnknown, wordRefused:", "default:",
			"gateway",
			[]string{"TestForgedOutcomes"},
			"",
		},
		{
			"form: what is inserted into a page is escaped (F7)", 5, "gateway/formmarkup.go", "html.EscapeString(string(formID))", "formID",
			"gateway",
			[]string{"TestMarkup"},
			"",
		},
	}
}
