package judge_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint/internal/judge"
)

// SQLite keeps JSON as it was written, and JSONB with lengths of any width: the verdict names each as an assumption.
func TestDocument(t *testing.T) {
	t.Parallel()
	const (
		once  = "no object of the JSON in doc holds a key twice"
		both  = "no object of the JSON in doc and in its patch holds a key twice"
		bytes = "doc is read as JSON, which is the same when the bytes of its JSONB differ"
	)
	s := learn(lite, "create table d(id integer primary key, doc jsonb, n int, at int)")
	for value, want := range map[string]struct {
		verdict judge.Verdict
		assumes string
	}{
		`json_patch(doc, '{"a":1}')`:                                 {judge.Safe, ""},
		`json_patch(json(doc), '{"a":null}')`:                        {judge.Safe, once},
		`json_patch(doc, ?1)`:                                        {judge.Safe, both},
		`json_patch(doc, '{"a":null,"a":1}')`:                        {judge.CannotTell, ""},
		`json_patch(doc, '{a:1}')`:                                   {judge.CannotTell, ""},
		`json_patch('{"a":1}', doc)`:                                 {judge.CannotTell, ""},
		`json_patch(doc, json_object('a', random()))`:                {judge.NotSafe, ""},
		`jsonb_patch(json(doc), json('{"a":1}'))`:                    {judge.Safe, bytes},
		`jsonb_set(doc, '$.a', ?1)`:                                  {judge.Safe, bytes},
		`json_set(doc, '$.a', ?1)`:                                   {judge.Safe, ""},
		`case when ?1 then jsonb_patch(doc, ?2) else doc end`:        {judge.Safe, bytes + "; " + both},
		`case when doc is null then json_patch(doc, ?1) end`:         {judge.CannotTell, ""},
		`jsonb(json_insert(json(coalesce(doc, '[]')), '$[#]', 'x'))`: {judge.NotSafe, ""},
		`json_insert(doc, '$.a', 'x')`:                               {judge.CannotTell, ""},
	} {
		got := verdict(t, lite, s, "update d set doc = "+value+" where id = 1")
		if assumes := strings.Join(got.Assumes, "; "); got.Verdict != want.verdict || got.Verdict == judge.Safe && assumes != want.assumes {
			t.Errorf("%s: %s (%s) under %q", value, got.Verdict, got.Why, assumes)
		}
	}
	if got := verdict(t, lite, s, "update d set n = case when n = at then n + 1 else n end"); got.Verdict != judge.Safe {
		t.Errorf("one step: %s (%s)", got.Verdict, got.Why)
	}
}

// A salt of pgcrypto is another one at each run, although the schema does not say what its functions do.
func TestSalt(t *testing.T) {
	t.Parallel()
	if got := verdict(t, pg, learn(pg, "create table u(id int primary key, p text)"), "update u set p = case when $1 then crypt($2, gen_salt('bf')) else p end"); got.Verdict != judge.NotSafe {
		t.Errorf("%s (%s)", got.Verdict, got.Why)
	}
}
