package scope

import (
	"strings"
)

// credentials identify the caller of an Authorization header.
type credentials struct {
	principal string // the part that stays the same in all requests of the caller; "" if there is none
	signed    bool   // they are new for each request, so principal is a claim that only the application can check
	unknown   bool   // [schemeOf] does not know the scheme, and principal is the whole header
}

// authorization reads the lines of an Authorization header. Schemes have no letter case (RFC 9110, section 11.1).
func authorization(lines []string) credentials {
	whole := credentials{principal: "header Authorization\n" + strings.Join(lines, "\n")}
	for _, line := range lines {
		name, rest, found := strings.Cut(line, " ")
		scheme, stable := schemeOf(name)
		switch {
		case !found:
		case scheme == "":
			whole.unknown = true
		case stable == nil:
			if len(lines) == 1 {
				whole.principal = "header Authorization\n" + scheme + " " + rest
			}
		case len(lines) > 1: // applications differ in which they read
			return credentials{signed: true}
		default:
			return credentials{principal: stableParts(scheme, rest, stable), signed: true}
		}
	}
	return whole
}

// schemeOf returns the usual spelling of a scheme, or "" if it is not known. For a scheme whose credentials are new for
// each request it also returns the parameters that stay the same; the first of them must be present.
func schemeOf(name string) (scheme string, stable []string) {
	switch strings.ToLower(name) {
	case "basic":
		return "Basic", nil
	case "bearer":
		return "Bearer", nil
	case "dpop":
		return "DPoP", nil // the token; the proof is in another header
	case "token":
		return "Token", nil
	case "digest":
		return "Digest", []string{"username", "realm"}
	case "oauth":
		return "OAuth", []string{"oauth_consumer_key", "oauth_token"}
	case "hawk":
		return "Hawk", []string{"id"}
	case "aws4-hmac-sha256":
		return "AWS4-HMAC-SHA256", []string{"credential"}
	case "aws4-ecdsa-p256-sha256":
		return "AWS4-ECDSA-P256-SHA256", []string{"credential"}
	case "negotiate", "ntlm", "kerberos", "scram-sha-1", "scram-sha-256", "hoba", "mutual", "privatetoken", "concealed":
		return strings.ToLower(name), []string{}
	}
	return "", nil
}

// stableParts returns the parameters that stay the same, or "" if the first of them is missing or any occurs twice.
func stableParts(scheme, text string, stable []string) string {
	parameters := map[string]string{}
	for text = strings.TrimSpace(text); text != ""; {
		var name, value string
		name, text, _ = strings.Cut(text, "=")
		name = strings.ToLower(strings.TrimLeft(name, " \t,"))
		value, text = parameter(text, ",")
		if _, twice := parameters[name]; twice {
			return ""
		}
		parameters[name] = value
	}
	if len(stable) == 0 || parameters[stable[0]] == "" {
		return ""
	}
	var principal strings.Builder
	principal.WriteString("claim " + scheme)
	for _, name := range stable {
		value := parameters[name]
		if name == "credential" { // the access key, without its date and region
			value, _, _ = strings.Cut(value, "/")
		}
		principal.WriteString("\n" + name + "=" + value)
	}
	return principal.String()
}

// parameter reads the value at the start of the text, quoted or not, and returns what follows the next of the characters that
// end it.
func parameter(text, ends string) (value, rest string) {
	text = strings.TrimLeft(text, " \t")
	if !strings.HasPrefix(text, `"`) {
		value, rest = cutAny(text, ends)
		return strings.TrimRight(value, " \t"), rest
	}
	var out strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			_, rest = cutAny(text[i+1:], ends)
			return out.String(), rest
		case c == '\\' && i+1 < len(text):
			i++
			out.WriteByte(text[i])
		default:
			out.WriteByte(c)
		}
	}
	return out.String(), ""
}

// cutAny cuts the text at the first of the characters.
func cutAny(text, ends string) (before, after string) {
	if i := strings.IndexAny(text, ends); i >= 0 {
		return text[:i], text[i+1:]
	}
	return text, ""
}
