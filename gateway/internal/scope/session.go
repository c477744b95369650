package scope

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/rules"
)

// Sessions holds the session cookies of a request by name. All values of a name count, because applications differ in
// whether the first or the last is the session. They count as they came, because applications also read values that
// net/http drops, and their callers must not all be anonymous.
type Sessions map[string][]string

// SessionsOf returns the session cookies of a request.
func SessionsOf(r *http.Request) Sessions {
	var all Sessions
	for name, value := range allCookies(r) {
		if !isSession(name) {
			continue
		}
		if all == nil {
			all = Sessions{}
		}
		all[name] = append(all[name], value)
	}
	return all
}

// Set applies a cookie that an answer sets; without a value the answer takes it away.
func (s Sessions) Set(name, value string) {
	switch {
	case !isSession(name):
	case value == "":
		delete(s, name)
	default:
		s[name] = []string{value}
	}
}

// Principal returns the caller by all sessions together, or "": an attacker may have planted any of them in the caller's
// browser, and nothing shows which one the application goes by.
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

// Steady returns the cookies whose value lasts as long as the session, and whether there were others, which get a new
// value with every answer.
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
