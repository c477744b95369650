package scope

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/rules"
)

// Sessions are the values of the session cookies that a request has, by the names of [rules.SessionCookies]: of each all
// of them, because applications differ in whether the first or the last is the session. They count as they came, because
// applications read values too that net/http drops, and their callers must not all be anonymous.
type Sessions map[string][]string

// SessionsOf returns the session cookies of a request.
func SessionsOf(r *http.Request) Sessions {
	var all Sessions
	for _, line := range r.Header["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			if name, value, _ := CutCookie(pair); value != "" && isSession(name) {
				if all == nil {
					all = Sessions{}
				}
				all[name] = append(all[name], value)
			}
		}
	}
	return all
}

// Set takes over the cookies that an answer sets or, with no value, takes away. The last line that names one counts.
func (s Sessions) Set(name, value string) {
	switch {
	case !isSession(name):
	case value == "":
		delete(s, name)
	default:
		s[name] = []string{value}
	}
}

// Principal returns the caller of the sessions: all of them together, because any of them may be planted in the caller's
// browser by an attacker, and none alone shows which one the application goes by. "" for none.
func (s Sessions) Principal() string {
	names := slices.Sorted(maps.Keys(s))
	switch len(names) {
	case 0:
		return ""
	case 1:
		return cookies(names[0], s[names[0]])
	}
	var principal strings.Builder
	principal.WriteString("cookies " + strings.Join(names, ", "))
	for _, name := range names {
		principal.WriteString("\n\n" + cookies(name, s[name]))
	}
	return principal.String()
}

// several lists the names where there is more than one.
func (s Sessions) several() string {
	if len(s) < 2 {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(s)), ", ")
}

// Steady returns the sessions whose values stay the same for as long as the session does, and whether there were others,
// which get a new value with every answer.
func (s Sessions) Steady() (steady Sessions, others bool) {
	steady = maps.Clone(s)
	maps.DeleteFunc(steady, func(name string, _ []string) bool { return !isSteady(name) })
	return steady, len(steady) < len(s)
}

func cookies(name string, values []string) string {
	return "cookie " + name + "\n" + strings.Join(values, "\n")
}

func isSession(name string) bool {
	return slices.Contains(rules.SessionCookies(), name) || len(name) > len(mediaWiki) && strings.HasSuffix(name, mediaWiki) && name[0] != '_'
}

// mediaWiki ends the name of a session cookie that begins with the name of a database.
const mediaWiki = "_session"

func isSteady(name string) bool {
	switch name {
	case "sessionid", "PHPSESSID", "JSESSIONID", "connect.sid", "ASP.NET_SessionId", "SESSION", "DokuWiki", "MinifluxSessionID":
		return true
	}
	return false
}
