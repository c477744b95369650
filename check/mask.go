package check

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/semel-dev/semel/check/wire"
)

// masker removes secrets from a complete report, once, so that no way of printing it can forget to. It recognises a
// secret by the name of its place, and then hides it everywhere.
type masker struct {
	key     string          // the name of the place of keys, which are not secret
	named   map[string]bool // further names
	learned map[string]bool // the secrets found so far
	all     *strings.Replacer
	secrets []string // those learned, the longest first; empty before freeze

	userInfo, pair, member, element, part, quoted, tag, tagName, tagValue *regexp.Regexp
}

const (
	// secretBytes is the least length of a secret that is hidden everywhere, and not only under a telling name: "dark"
	// is too short.
	secretBytes = 6
	// searchedBytes of a body are searched, evidenceBytes are kept. The rest finds the secrets that straddle the cut.
	searchedBytes = 2 * evidenceBytes
	// partBytes is the least length of the beginning of a secret that is hidden without its end, and tailBytes that at
	// the end of a truncated text.
	partBytes, tailBytes = 16, 4
	// maxReason bounds a sentence of a report, in bytes.
	maxReason = 2 << 10
)

func newMasker(c *Config, users ...*User) *masker {
	m := &masker{
		key: normal(c.Key.Name), named: map[string]bool{}, learned: map[string]bool{}, all: strings.NewReplacer(),

		userInfo: regexp.MustCompile(`://[^/\s"'<>@?#]+@`),
		pair:     regexp.MustCompile(`([\w.%\-\[\]]+)=("[^"]*"|'[^']*'|[^&;\s"'<>#,]*)`),
		member:   regexp.MustCompile(`"((?:[^"\\]|\\.)*)"\s*:\s*`),
		element:  regexp.MustCompile(`<([\w:.-]+)>([^<]*)</`),
		part:     regexp.MustCompile(`(?is)(\bname="([^"]*)"[^\r\n]*(?:\r?\n[^\r\n]+)*\r?\n\r?\n)(.*?)(\r?\n--|$)`),
		quoted:   regexp.MustCompile(`\x00(\{[^\x00]*\})\x00`),
		tag:      regexp.MustCompile(`(?i)<(?:input|meta)\b[^>]*>`),
		tagName:  regexp.MustCompile(`(?i)\bname\s*=\s*["']?([^"'\s>]+)`),
		tagValue: regexp.MustCompile(`(?i)\b(value|content)\s*=\s*("[^"]*"|'[^']*'|[^\s>"']+)`),
	}
	for _, name := range c.Mask {
		m.named[normal(name)] = true
	}
	for _, user := range slices.Concat(users, []*User{c.User, c.Other}) {
		if user == nil {
			continue
		}
		for _, f := range user.Header {
			m.named[normal(f.Name)] = true
			m.header(f.Name, f.Value)
		}
		for _, value := range user.Values {
			m.hide(value)
		}
	}
	for _, f := range c.Template.Header {
		m.header(f.Name, f.Value)
	}
	m.text(c.Template.URL)
	return m
}

// report masks the whole report in place. The first pass only learns.
func (m *masker) report(r *Report) {
	for i := range r.Results {
		m.result(&r.Results[i])
	}
	m.freeze()
	r.Target, r.Died = m.text(r.Target), shortened(m.reason(r.Died), maxReason)
	for _, list := range [][]string{r.Counters, r.Notes} {
		for i := range list {
			list[i] = shortened(m.reason(list[i]), maxReason)
		}
	}
	for i := range r.Results {
		one := &r.Results[i]
		*one = m.result(one)
		for j := range one.Exchanges {
			one.Exchanges[j].cut()
		}
	}
}

func (m *masker) result(r *Result) Result {
	masked := *r
	masked.Reason = shortened(m.reason(r.Reason), maxReason) + r.said.quoted(m.text)
	if left := len(r.Exchanges) - evidenceExchanges; left > 0 {
		masked.Exchanges, masked.LeftOut = r.Exchanges[:evidenceExchanges], left
	}
	masked.Exchanges = slices.Clone(masked.Exchanges)
	for i := range masked.Exchanges {
		m.exchange(&masked.Exchanges[i])
	}
	return masked
}

func (m *masker) exchange(e *Exchange) {
	e.Label, e.Error = m.text(e.Label), shortened(m.text(e.Error), maxReason)
	if e.Request != nil {
		e.RequestBytes = max(e.RequestBytes, len(e.Request.Body))
		e.Request = &wire.Request{Method: e.Request.Method, URL: m.address(e.Request.URL), Header: slices.Clone(e.Request.Header), Body: m.body(e.Request.Body)}
		for i, f := range e.Request.Header {
			e.Request.Header[i].Value = m.header(f.Name, f.Value)
		}
	}
	if e.Answer != nil {
		e.AnswerBytes = max(e.AnswerBytes, len(e.Answer.Body))
		masked := *e.Answer
		masked.Body, masked.Header = m.body(masked.Body), masked.Header.Clone()
		for name, values := range masked.Header {
			for i, value := range values {
				values[i] = m.header(name, value)
			}
		}
		e.Answer = &masked
	}
}

func (m *masker) body(body []byte) []byte {
	if len(body) < searchedBytes {
		return []byte(m.text(string(body)))
	}
	return []byte(m.text(m.withoutTail(string(body[:searchedBytes]))))
}

func (m *masker) address(at *url.URL) *url.URL {
	masked, err := url.Parse(m.text(at.String()))
	if err != nil {
		return &url.URL{Scheme: at.Scheme, Host: at.Host, Path: wire.Hidden}
	}
	return masked
}

// header returns the printable part of a header's value: of cookies, their names.
func (m *masker) header(name, value string) string {
	switch normal(name) {
	case "cookie", "setcookie":
		return m.cookies(normal(name) == "setcookie", value)
	case "authorization", "proxyauthorization":
		m.learnCredentials(value)
	}
	if m.secret(name) {
		return m.hide(value)
	}
	return m.text(value)
}

func (m *masker) cookies(set bool, value string) string {
	parts := strings.Split(value, ";")
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		if ok && (i == 0 || !set) {
			parts[i] = name + "=" + m.hide(value)
		}
	}
	return strings.Join(parts, ";")
}

func (m *masker) learnCredentials(value string) {
	scheme, credentials, _ := strings.Cut(value, " ")
	m.hide(credentials)
	if raw, err := base64.StdEncoding.DecodeString(credentials); err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(raw), ":")
		m.hide(string(raw))
		m.hide(password)
	}
}

// quotation is a value of an answer within a reason, with the names of its places. It is kept in fields until the report is
// complete, so that the masker tells a secret by its name whatever the sentence around it says: the answer may have been
// compressed, or too long to search.
type quotation struct {
	Value string
	Names []string
	Brief bool // show the beginning alone
}

func quote(value string, names ...string) quotation { return quotation{Value: value, Names: names} }

// String implements [fmt.Stringer] for the sentence. Only [masker.reason] reads it.
func (q quotation) String() string { return "\x00" + asJSON(q) + "\x00" }

// reason returns a sentence with its quotations as people read them, without secrets.
func (m *masker) reason(text string) string {
	return m.text(replaceGroups(m.quoted, text, func(g []string) string {
		var q quotation
		if json.Unmarshal([]byte(g[1]), &q) != nil {
			return wire.Hidden
		}
		if slices.ContainsFunc(q.Names, func(name string) bool { return m.secret(lastStep(name)) }) {
			return m.hide(q.Value)
		}
		if q.Brief {
			q.Value = shortened(q.Value, maxBrief)
		}
		return strconv.Quote(q.Value)
	}))
}

// lastStep returns the name of the place that a pointer leads to.
func lastStep(place string) string { return place[strings.LastIndexAny(place, "/ ")+1:] }

// text hides the secrets in any text: an address, a form, JSON, a page.
func (m *masker) text(text string) string {
	if text == "" {
		return ""
	}
	text = m.parts(m.all.Replace(text))
	text = m.userInfo.ReplaceAllStringFunc(text, func(found string) string {
		_, password, _ := strings.Cut(strings.Trim(found, ":/@"), ":")
		return "://" + m.hide(password) + "@"
	})
	text = m.members(text)
	text = replaceGroups(m.part, text, func(g []string) string { return g[1] + m.ifSecret(g[2], g[3]) + g[4] })
	text = replaceGroups(m.element, text, func(g []string) string { return "<" + g[1] + ">" + m.ifSecret(g[1], g[2]) + "</" })
	text = m.tag.ReplaceAllStringFunc(text, m.oneTag)
	return replaceGroups(m.pair, text, func(g []string) string { return g[1] + "=" + m.ifSecret(g[1], g[2]) })
}

func replaceGroups(in *regexp.Regexp, text string, by func([]string) string) string {
	return in.ReplaceAllStringFunc(text, func(found string) string { return by(in.FindStringSubmatch(found)) })
}

func (m *masker) oneTag(tag string) string {
	name := m.tagName.FindStringSubmatch(tag)
	if name == nil || !m.secret(name[1]) {
		return tag
	}
	return replaceGroups(m.tagValue, tag, func(g []string) string { return g[1] + `="` + m.hide(strings.Trim(g[2], `"'`)) + `"` })
}

// members hides the values of JSON members with the name of a secret, even in a piece of a document.
func (m *masker) members(text string) string {
	var b strings.Builder
	for {
		at := m.member.FindStringSubmatchIndex(text)
		if at == nil {
			return b.String() + text
		}
		b.WriteString(text[:at[1]])
		name := text[at[2]:at[3]]
		_ = json.Unmarshal([]byte(`"`+name+`"`), &name) // otherwise it stays as written
		text = text[at[1]:]
		if !m.secret(name) {
			continue
		}
		end := valueEnd(text)
		value := text[:end]
		if text[:end] != "null" {
			_ = json.Unmarshal([]byte(value), &value) // as above
			b.WriteString(`"` + m.hide(value) + `"`)
		} else {
			b.WriteString("null")
		}
		text = text[end:]
	}
}

// valueEnd returns the end of the JSON value at the start of the text.
func valueEnd(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			if !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			if depth--; depth == 0 {
				return i + 1
			}
		case depth == 0 && strings.IndexByte(",}] \t\r\n", c) >= 0:
			return i
		}
	}
	return len(text)
}

func (m *masker) ifSecret(name, value string) string {
	if !m.secret(name) {
		return value
	}
	return m.hide(strings.Trim(value, `"'`))
}

func (m *masker) secret(name string) bool {
	name = normal(name)
	switch {
	case m.named[name]:
		return true
	case name == m.key:
		return false
	}
	for _, part := range []string{
		"password", "passwd", "passphrase", "secret", "token", "apikey", "signature", "credential", "authorization",
		"cookie", "privatekey", "sessionid", "csrf", "xsrf", "cardnumber", "securitycode",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return slices.Contains([]string{"pwd", "pin", "otp", "cvc", "cvv", "pan", "iban", "jwt", "sid", "xauth"}, name)
}

// normal returns a name in lower case without punctuation.
func normal(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// hide learns a secret, and returns its replacement. Keys of this package are never secret.
func (m *masker) hide(value string) string {
	if len(value) >= secretBytes && !strings.Contains(value, keyPrefix) {
		m.learned[value] = true
	}
	return wire.Hidden
}

// freeze makes text hide everything that was learned, in all its spellings.
func (m *masker) freeze() {
	secrets := slices.SortedFunc(maps.Keys(m.learned), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	var pairs []string
	for _, secret := range secrets {
		for _, spelled := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(asJSON(secret), `"`), html.EscapeString(secret)} {
			pairs = append(pairs, spelled, wire.Hidden)
		}
	}
	m.all, m.secrets = strings.NewReplacer(pairs...), secrets
}

func asJSON(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return wire.Hidden
	}
	return string(raw)
}

// parts hides the rest of a secret in a truncated text: its beginning anywhere, if that is long, and any piece of it
// before an ellipsis.
func (m *masker) parts(text string) string {
	for _, secret := range m.secrets {
		if len(secret) <= partBytes {
			break // the others are shorter
		}
		for from := 0; ; from += len(wire.Hidden) {
			at := strings.Index(text[from:], secret[:partBytes])
			if at < 0 {
				break
			}
			from += at
			end := partBytes
			for end < len(secret) && from+end < len(text) && text[from+end] == secret[end] {
				end++
			}
			text = text[:from] + wire.Hidden + text[from+end:]
		}
	}
	pieces := strings.Split(text, "…")
	for i := range pieces[:len(pieces)-1] {
		pieces[i] = m.withoutTail(pieces[i])
	}
	return strings.Join(pieces, "…")
}

// withoutTail hides the beginning of a secret at the end of a truncated text.
func (m *masker) withoutTail(text string) string {
	for _, secret := range m.secrets {
		for n := min(len(secret)-1, len(text)); n >= tailBytes; n-- {
			if strings.HasSuffix(text, secret[:n]) {
				return text[:len(text)-n] + wire.Hidden
			}
		}
	}
	return text
}

// shortened returns at most that many bytes of a text, with an ellipsis if it was longer.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// maskedError is an error with a printable text.
type maskedError struct {
	text string
	err  error
}

// Error implements error.
func (e *maskedError) Error() string { return e.text }

// Unwrap returns the error, whose own text may hold secrets.
func (e *maskedError) Unwrap() error { return e.err }
