package main

// formTokens name the intents of forms. Each names one of the promises F1 to F7, and counts for the one of the ten that
// it keeps for browsers.
func formTokens() []mutant {
	const token = "internal/formguard/token.go"
	return []mutant{
		removed("form: the content is in the key (F1)", 6, "gateway/internal/forms/key.go",
			`a.name = keyPrefix + token.Name() + ":" + base64.RawURLEncoding.EncodeToString(result.Digest[:])`,
			`a.name = keyPrefix + token.Name() + ":" + base64.RawURLEncoding.EncodeToString(make([]byte, len(result.Digest)))`,
			"gateway", "TestFormIntents"),
		removed("form: only the named fields do not count (F1)", 6, "internal/formguard/multipart.go",
			"if name, ok := plainPart(text); ok && m.ignores(name) {", "if _, ok := plainPart(text); ok {",
			"internal/formguard", "TestDigestTellsFormsApart", "TestDigestVectors"),
		removed("form: a token is its reader's (F2)", 5, token, "appendSized(appendSized(covered, route), who)", "appendSized(covered, route)",
			"internal/formguard", "TestTokenOfSomethingElseIsForeign"),
		removed("form: a token is its route's (F2)", 5, token, "appendSized(appendSized(covered, route), who)", "appendSized(covered, who)",
			"internal/formguard", "TestTokenOfSomethingElseIsForeign"),
		removed("form: a token leads back to its guest (F8)", 2, "internal/formguard/press.go", "	copy(p.plain[:], p.seed)\n", "",
			"gateway", "TestFormWithoutCookies/cookies_blocked"),
		removed("form: no other site has a guest's form sent (F8)", 5, "gateway/internal/forms/reader.go", " || !f.fromThisSite(r)", "",
			"gateway", "TestGuestsOnly/sent_by_another_site"),
		removed("form: a request with a cookie is not a guest's (F8)", 5, "gateway/internal/forms/reader.go", ` && len(r.Header["Cookie"]) == 0`, "",
			"gateway", "TestGuestsOnly/sent_with_any_cookie"),
		removed("form: without a secret nothing runs (F6)", 10, "gateway/internal/forms/key.go", "	a.unverified = true\n	return nil, fmt.Errorf(\"form secret: %w\", err)", "	a.unverified = true\n	return nil, nil",
			"gateway", "TestFormWithoutSecret"),
		removed("form: a token has a lifetime (F2)", 2, token, "if lifetime <= 0 || m.now().Sub(token.Issued) > lifetime {", "if lifetime <= 0 {",
			"internal/formguard", "TestTokenExpires"),
	}
}

// formPages are kept apart by reader, and go out as they should.
func formPages() []mutant {
	return []mutant{
		removed("form: tokens do not reach the application (F3)", 5, "gateway/internal/forms/strip.go",
			"		body = formguard.Strip(body, contentType, field)\n", "		_ = formguard.Strip(body, contentType, field)\n",
			"gateway", "TestStripEverywhere"),
		removed("form: the visitor cookie does not reach the application (F3)", 5, "gateway/internal/forms/cookie.go",
			"			case visitorCookie, secureVisitorCookie:\n", "			case visitorCookie, secureVisitorCookie:\n				kept = append(kept, pair)\n",
			"gateway", "TestVisitorCookie", "TestPageIsFresh"),
		removed("form: a notice is in a page that a person sees", 2, "gateway/internal/forms/outcome.go",
			"p.status < http.StatusMultipleChoices && !loadsAhead", "p.status < http.StatusBadRequest && !loadsAhead",
			"gateway", "TestNoticeAfterRedirect"),
		removed("form: no 304 brings a used token back (F5)", 5, "gateway/internal/forms/forms.go",
			`[]string{"If-None-Match", "If-Modified-Since", "Range", "If-Range"}`, `[]string{"Range", "If-Range"}`,
			"gateway", "TestPageIsFresh"),
		removed("form: a page with tokens is private (F5)", 5, "gateway/internal/forms/page.go", `h["Cache-Control"] = privately(h["Cache-Control"])`, `_ = privately(h["Cache-Control"])`,
			"gateway", "TestPageHeader"),
		removed("form: a page is shown again to its own reader (F7)", 5, "gateway/internal/forms/reader.go", `{ return "visitor\n" + visitor }`, `{ return "visitor\n" }`,
			"gateway", "TestRestoreRedirect", "TestFormIdentities"),
		removed("form: the page learns the outcome (F7)", 7, "gateway/internal/forms/outcome.go", `p.Header().Add("Set-Cookie", outcomecookie.Line(a.outcomes, p.secure()))`, "_ = outcomecookie.Line(a.outcomes, p.secure())",
			"gateway", "TestFormOutcomes"),
		removed("form: a cookie puts nothing of its own into an answer (F7)", 5, "internal/outcomecookie/cookie.go",
			"case Executed, Replayed, Seen, InFlight, Unknown, Refused:", "default:",
			"gateway", "TestForgedOutcomes"),
		removed("form: what is inserted into a page is escaped (F7)", 5, "gateway/internal/forms/insert.go", "html.EscapeString(string(formID))", "formID",
			"gateway", "TestMarkup"),
	}
}

// formVisitors are the readers whom only a cookie of the gateway's identifies.
func formVisitors() []mutant {
	return []mutant{
		removed("form: over TLS only this host names a visitor", 5, "gateway/internal/forms/cookie.go",
			"if name == visitorName(secure) {", "if secure || !secure {",
			"gateway", "TestPlantedVisitor", "TestVisitorOverTLS"),
		removed("form: with a visitor cookie that is not read, a request is not a guest's", 5, "gateway/internal/forms/reader.go",
			" && !own.ignored", "",
			"gateway", "TestPlantedVisitor"),
	}
}
