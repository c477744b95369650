package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// fingerprint names a finding, whatever its line: by its rule and its statement without comments and line breaks.
func fingerprint(rule, statement string) string {
	const length = 8
	sum := sha256.Sum256([]byte(rule + "\n" + normal(statement)))
	return hex.EncodeToString(sum[:length])
}

// normal returns a statement without comments, and with one blank for each gap. Texts in quotes are kept.
func normal(text string) string {
	var out strings.Builder
	gap := false
	for rest := text; rest != ""; {
		n, skipped := token(rest)
		if skipped {
			gap = out.Len() > 0
		} else {
			if gap {
				out.WriteByte(' ')
			}
			gap = false
			out.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	return out.String()
}

// token returns the length of what comes next, and whether it is a blank or a comment.
func token(text string) (n int, skipped bool) {
	until := func(from int, end string) int {
		if i := strings.Index(text[from:], end); i >= 0 {
			return from + i + len(end)
		}
		return len(text)
	}
	switch c := text[0]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		return 1, true
	case strings.HasPrefix(text, "--"):
		return until(2, "\n"), true
	case strings.HasPrefix(text, "/*"):
		return until(2, "*/"), true
	case c == '\'' || c == '"' || c == '`':
		return until(1, string(c)), false
	}
	return 1, false
}
