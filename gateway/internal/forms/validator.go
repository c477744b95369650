package forms

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A page that gets the page script and nothing else is the same for all readers: caches keep it for as long as the application says. Its
// validator is the application's own with a mark of the inserted element, so that another script, or other rules, make another page.
// The kind behind the mark names the application's validator.
const (
	strongTag    = "s"
	weakTag      = "w"
	lastModified = "d" // in hexadecimal seconds: alone it does not say which element the page has
)

var entityTag = regexp.MustCompile(`(W/)?"([\x21\x23-\x7E\x80-\xFF]*)"`)

// markOf returns the mark of pages with an element.
func markOf(element string) string {
	sum := sha256.Sum256([]byte(element))
	return "~" + hex.EncodeToString(sum[:6])
}

// alike reports whether the rewritten page is the same for all readers.
func (p *pageWriter) alike() bool {
	return len(p.forms.fields) == 0 && p.headed && p.pagePass.nonce == "" && p.pagePass.integrity == ""
}

// marked returns the ETag of the page with the element, nil where the application gives no validator.
func (p *pageWriter) marked() []string {
	h := p.Header()
	var value, kind string
	if tag := entityTag.FindStringSubmatch(h.Get("Etag")); tag != nil {
		value, kind = tag[2], strongTag
		if tag[1] != "" {
			kind = weakTag
		}
	} else if at, err := http.ParseTime(h.Get("Last-Modified")); err == nil {
		value, kind = strconv.FormatInt(at.Unix(), 16), lastModified
	} else {
		return nil
	}
	return []string{`W/"` + value + p.forms.page.marks[p.pageRoutes] + kind + `"`}
}

// known returns the application's own validators of the reader's copies that have the current element, nil for none.
func (f *Forms) known(r *http.Request) http.Header {
	if len(f.fields) > 0 || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	var tags []string
	var since http.Header
	mark := f.page.marks[f.page.on(r.Host)]
	for _, tag := range entityTag.FindAllStringSubmatch(strings.Join(r.Header["If-None-Match"], ","), -1) {
		text := tag[2]
		kind := text[max(len(text)-1, 0):]
		value, ours := strings.CutSuffix(strings.TrimSuffix(text, kind), mark)
		if !ours {
			continue
		}
		switch kind {
		case strongTag:
			tags = append(tags, `"`+value+`"`)
		case weakTag:
			tags = append(tags, `W/"`+value+`"`)
		case lastModified:
			if at, err := strconv.ParseInt(value, 16, 64); err == nil {
				since = http.Header{"If-Modified-Since": {time.Unix(at, 0).UTC().Format(http.TimeFormat)}}
			}
		}
	}
	if tags != nil {
		return http.Header{"If-None-Match": {strings.Join(tags, ", ")}}
	}
	return since
}

// passUnmodified passes on that the reader has the page already. Caches update the header of the page with it.
func (p *pageWriter) passUnmodified() {
	h := p.Header()
	tag := p.marked()
	h.Del("Etag")
	h.Del("Last-Modified")
	if tag != nil {
		h["Etag"] = tag
	}
	allowIn(h, p.forms.page.element(p.request.Host))
	p.passOn()
}
