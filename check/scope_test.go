package check_test

import (
	"net/http"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/check/wire"
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

func gives(k kept, w http.ResponseWriter, _ *http.Request) { k.write(w) }

func refuses(_ kept, w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "that key is taken", http.StatusUnprocessableEntity)
}

func refersTo(k kept, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Known-As", k.header.Get("Location"))
	refuses(k, w, r)
}

func TestScopesFailWhereKeysAreEverybodys(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		door  func(b *booth) http.Handler
		fails []string
	}{
		"everybody's answer": {
			func(b *booth) http.Handler { return front(b, newLocker(b, knowing(keyAlone, gives))) },
			[]string{"SCOPE-01", "SCOPE-02", "SCOPE-05"},
		},
		"everybody's key": {
			func(b *booth) http.Handler { return front(b, newLocker(b, knowing(keyAlone, refuses))) },
			[]string{"SCOPE-02", "SCOPE-05"},
		},
		"one key for all, with its owner": {
			func(b *booth) http.Handler { return front(b, newLocker(b, knowing(keyAlone, refersTo))) },
			[]string{"SCOPE-01", "SCOPE-02", "SCOPE-05"},
		},
		"replayed before authorisation": {
			func(b *booth) http.Handler { return unguardedReplay(b) },
			[]string{"SCOPE-03"},
		},
		"401 remembered": {
			func(b *booth) http.Handler { return newLocker(b, knowing(keyAlone, gives)) },
			[]string{"ERR-05", "SCOPE-01", "SCOPE-02", "SCOPE-03", "SCOPE-05"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &booth{}
			failsOnly(t, visit(t, app, broken.door(app), func(c *check.Config) { c.Only = []string{"ERR-05", "scope"} }), broken.fails...)
		})
	}
}

// unguardedReplay looks a key up under the account, except for callers without one, who only need one when something is
// executed.
func unguardedReplay(b *booth) http.Handler {
	last := newLocker(b, looksFirst)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := keyAlone(r)
		if answer, ok := last.find(name); ok && caller(r) == "" {
			answer.write(w)
			return
		}
		if answer, ok := last.find(caller(r) + " " + name); ok {
			answer.write(w)
			return
		}
		answer := record(b, r)
		if answer.status < 300 {
			last.settle(name, answer)
			last.settle(caller(r)+" "+name, answer)
		}
		answer.write(w)
	})
}

// dressed sets one cookie with every answer.
func dressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "shop", Value: "open"})
		next.ServeHTTP(w, r)
	})
}

// selling sets a cookie of its own with every sale.
func selling(b *booth) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sale := record(b, r)
		http.SetCookie(w, &http.Cookie{Name: "receipt", Value: sale.header.Get("Location")})
		sale.write(w)
	})
}

func TestCookiesOfTheFirstAnswer(t *testing.T) {
	t.Parallel()
	scope4 := func(c *check.Config) { c.Only = []string{"SCOPE-04"} }
	app := &booth{}
	replaying := newLocker(selling(app), looksFirst)
	failsOnly(t, visit(t, app, dressed(replaying), scope4), "SCOPE-04")

	app = &booth{}
	report := visit(t, app, dressed(newLocker(app, looksFirst)), scope4)
	failsOnly(t, report)
	if got := having(report, check.Skipped); len(got) == 0 || len(having(report, check.Pass)) > 0 {
		t.Errorf("a cookie that every answer sets was judged: %v", report.Results[0])
	}

	app = &booth{}
	report = visit(t, app, dressed(behind(t, nil, selling(app), semel.Policy{}, nil)), scope4)
	failsOnly(t, report)
	passes(t, report, "SCOPE-04")
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
