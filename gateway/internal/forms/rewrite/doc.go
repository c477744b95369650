// Package rewrite inserts into HTML pages while they pass: a hidden input into every form, and little else. What is not
// inserted stays as it was, byte by byte.
//
// It is for pages in charsets that are [Supported], served as text/html, or as XHTML: see [Options].XML. Nothing of a page is
// kept but the tag that is being read, so that memory does not grow with the page.
//
// # Where a tag is a tag
//
// The tokenizer of the HTML standard decides, in these states:
//
//	         "<" letter            name ends             ">"
//	text ───────────────▶ tagName ──────────▶ tagBody ───────────▶ text, or what the element says:
//	 │ ▲                                      (quotes, see            style, title, textarea, xmp,
//	 │ │                                       tagScan)               iframe, noembed, noframes ──▶ rawText
//	 │ │                                                              script ────────────────────▶ scriptText
//	 │ │                                                              plaintext ─────────────────▶ plainText
//	 │ │
//	 │ ├── "-->" "--!>" ─── comment ◀────── "<!--"
//	 │ ├── ">" ──────────── bogusComment ◀─ "<!" "<?" "</" and whatever else; a doctype
//	 │ ├── "]]>" ────────── cdataSection ◀─ "<![CDATA[" in svg and math only
//	 │ ├── "</name" ─────── rawText
//	 │ └── "</script" ───── scriptText: plain ──"<!--"──▶ escaped ──"<script"──▶ doubly escaped
//	 │                                       ◀──"-->"───         ◀──"</script"── (does not end there)
//	 └── all of this starts at "<"
//
// In XML no element holds raw text, CDATA sections are everywhere, "<?" goes on to "?>", and a doctype may have declarations in it.
//
// # Which tag begins a form
//
// Of the tree that a parser builds so much is known: the form that is open (a form in a form begins nothing, but in XML), the
// templates that are open (forms in them are forms of their own), whether a select is open (an input in there would close
// it: nothing is inserted), and which elements are open in svg and math, where a form element is not a form and style does not hold raw text.
//
// The content of a noscript element is looked into, for people without scripts. To a browser with scripts it is text up
// to the first "</noscript", whatever it looks like, so that insertions in there change nothing. Behind it the page goes
// on as it is for those: with the forms that were open before.
//
// Where a page is broken, the parsers of browsers repair it in ways that depend on the whole tree. There the rewriter
// errs towards a hidden input that belongs to no form. These cases are known: svg that an end tag of an element around it
// ends, a form directly in a table in a template (parsers drop it), and forms behind frameset.
package rewrite
