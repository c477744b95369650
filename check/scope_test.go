package check_test

import (
	"net/http"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// knowing answers from a map with the given names; stranger handles an answer that belongs to another user.
func knowing(name func(*http.Request) string, stranger func(k kept, w http.ResponseWriter, r *http.Request)) func(*locker, http.ResponseWriter, *http.Request, string) {
	return func(l *locker, w http.ResponseWriter, r *http.Request, _ string) {
		id := name(r)
		if running := l.begin(id); running != nil {
			<-running
		}
		answer, ok := l.find(id)
		switch {
		case !ok:
			answer = record(l.app, r)
			answer.header.Set("Owner", caller(r))
			l.settle(id, answer)
			answer.write(w)
		case answer.header.Get("Owner") == caller(r):
			l.settle(id, answer)
			answer.write(w)
		default:
			l.settle(id, answer)
			stranger(answer, w, r)
		}
	}
}

func keyAlone(r *http.Request) string { return r.Header.Get("Idempotency-Key") }

func refuses(_ kept, w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "that key is taken", http.StatusUnprocessableEntity)
}

func refersTo(k kept, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Known-As", k.header.Get("Location"))
	refuses(k, w, r)
}

// TestRefusalThatNamesTheOwnersAnswer: a refusal tells a stranger as much as an answer does.
func TestRefusalThatNamesTheOwnersAnswer(t *testing.T) {
	t.Parallel()
	app := &booth{}
	door := front(app, newLocker(app, knowing(keyAlone, refersTo)))
	failsOnly(t, visit(t, app, door, func(c *check.Config) { c.Only = []string{"ERR-05", "scope"} }), "SCOPE-01", "SCOPE-02", "SCOPE-05")
}

// dressed sets one cookie with every answer.
func dressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "shop", Value: "open"})
		next.ServeHTTP(w, r)
	})
}

// TestCookieOfEveryAnswer: a cookie that every answer sets is not part of a stored answer.
func TestCookieOfEveryAnswer(t *testing.T) {
	t.Parallel()
	app := &booth{}
	report := visit(t, app, dressed(newLocker(app, looksFirst)), func(c *check.Config) { c.Only = []string{"SCOPE-04"} })
	failsOnly(t, report)
	if got := having(report, check.Skipped); len(got) == 0 || len(having(report, check.Pass)) > 0 {
		t.Errorf("a cookie that every answer sets was judged: %v", report.Results[0])
	}
}

func TestScopesAreIncompleteWhereNobodyCanTell(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*check.Config){
		"same credentials": func(c *check.Config) { c.Other = bearer("ann") },
		"no right at all": func(c *check.Config) {
			c.Other = &check.User{Header: []wire.Field{{Name: "Authorization", Value: "nobody"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &booth{}
			report := visit(t, app, guarded(t, app, semel.Policy{}, nil), func(c *check.Config) {
				c.Only = []string{"SCOPE-01", "SCOPE-02", "SCOPE-05"}
				edit(c)
			})
			if got := having(report, check.Incomplete); len(got) != 3 {
				t.Errorf("incomplete: %v", got)
			}
		})
	}
}

func TestScopesAreSkippedWithoutUsers(t *testing.T) {
	t.Parallel()
	app := &booth{open: true}
	report := visit(t, app, guarded(t, app, semel.Policy{}, nil), func(c *check.Config) {
		c.User, c.Other = nil, nil
		c.Only = []string{"scope", "ERR-05", "RACE-01"}
	})
	failsOnly(t, report)
	if got := having(report, check.Pass); len(got) != 1 {
		t.Errorf("passed without users: %v", got)
	}
}
