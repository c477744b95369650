package faulty

import "net/http"

// Members passes on callers with one of the tokens, and refuses others with 401.
func Members(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Authorization") {
		case tokenOfAnn, tokenOfBob:
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			answerProblem(w, http.StatusUnauthorized, "log in first")
		}
	})
}

// The tokens of the two members.
const (
	tokenOfAnn = "Bearer token-of-ann"
	tokenOfBob = "Bearer token-of-bob"
)
