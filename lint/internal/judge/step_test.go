package judge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
)

const lax = "set sql_mode='';"

// stepHoles are guards by arithmetic that find their row again, because the column cannot hold the sum.
var stepHoles = []hole{
	{"version at the end of its type", my, lax + "create table d(id int primary key, n int, v smallint); insert into d values (1,100,32767);", "update d set n=n-5, v=v+1 where id=1 and v=32767"},
	{"version at the start of its type", my, lax + "create table d(id int primary key, n int, v tinyint); insert into d values (1,100,-128);", "update d set n=n-5, v=v-1 where v=-128"},
	{"nothing left of what has no sign", my, lax + "set sql_mode='NO_UNSIGNED_SUBTRACTION'; create table d(id int primary key, n int, v int unsigned); insert into d values (1,100,0);", "update d set n=n-5, v=v-1 where v=0"},
	{"version that is another column", my, lax + "create table d(id int primary key, n int, v tinyint, w tinyint); insert into d values (1,100,127,127);", "update d set n=n-5, v=v+1 where v=w"},
	{"generated column at its end", my, lax + "create table d(id int primary key, n int, v int, g tinyint generated always as (v*2) stored); insert into d(id,n,v) values (1,100,100);", "update d set n=n-5, v=v+1 where g=127"},
	{"text that is cut", my, lax + "create table d(id int primary key, n int, v varchar(3)); insert into d values (1,100,'a');", "update d set n=n-5, v='abcd' where v<>'abcd'"},
	{"long text that is cut", my, lax + "create table d(id int primary key, n int, v tinytext); insert into d values (1,100,'a');", "update d set n=n-5, v='" + strings.Repeat("a", 300) + "' where v<>'" + strings.Repeat("a", 300) + "'"},
	{"date that is not true", my, lax + "create table d(id int primary key, n int, v date); insert into d values (1,100,'0000-00-00');", "update d set n=n-5, v=1 where not v"},
	{"least integer", lite, "create table d(id integer primary key, n int, v int); insert into d values (1,100,-9223372036854775808);", "update d set n=n-5, v=v-1 where v=-9223372036854775808"},
	{"number beyond integers", lite, "create table d(id integer primary key, n int, v int); insert into d values (1,100,1e20);", "update d set n=n-5, v=v+1 where v=100000000000000000000"},
}

// stepSound stays away from the ends, or is refused there.
var stepSound = []hole{
	{"version", my, lax + "create table d(id int primary key, n int, v smallint); insert into d values (1,100,5);", "update d set n=n-5, v=v+1 where id=1 and v=5"},
	{"version", lite, "create table d(id integer primary key, n int, v int); insert into d values (1,100,5);", "update d set n=n-5, v=v+1 where id=1 and v=5"},
	{"version", pg, "create table d(id int primary key, n int, v int); insert into d values (1,100,5);", "update d set n=n-5, v=v+1 where id=1 and v=5"},
}

// A guard whose bound is the caller's says what it assumes of the server, where the schema does not say.
func TestSteps(t *testing.T) {
	t.Parallel()
	const ddl, mode, whole = "create table d(id int primary key, n int, v int, w int);", "the sql_mode of the server is strict", "v is an integer"
	for _, c := range []struct {
		d               dialect.Dialect
		statement       string
		refuses, clips  bool
		verdict         judge.Verdict
		assumes, others string
	}{
		{d: pg, statement: "update d set n=n-5, v=v+1 where id=$1 and v=$2", others: mode},
		{d: my, statement: "update d set n=n-5, v=v+1 where id=? and v=?", assumes: mode},
		{d: my, statement: "update d set n=n-5, v=v+1 where v=w", assumes: mode},
		{d: my, statement: "update d set n=n-5, v=v+1 where v=2147483647", assumes: mode},
		{d: my, statement: "update d set n=n-5, v=v+1 where v=7", others: mode},
		{d: my, statement: "update d set n=n-5, v=v+1 where id=? and v=?", refuses: true, others: mode},
		{d: my, statement: "update d set n=n-5, v=v+1 where id=? and v=?", clips: true, verdict: judge.NotSafe},
		{d: lite, statement: "update d set n=n-5, v=v+1 where id=?1 and v=?2", assumes: whole},
	} {
		s := learn(c.d, ddl)
		s.Refuses, s.Clips = c.refuses, c.clips
		got := verdict(t, c.d, s, c.statement)
		has := func(text string) bool {
			return text != "" && slices.ContainsFunc(got.Assumes, func(one string) bool { return strings.HasPrefix(one, text) })
		}
		if got.Verdict != c.verdict || c.assumes != "" && !has(c.assumes) || has(c.others) {
			t.Errorf("%s: called %s (%s) under %q: %s", c.d, got.Verdict, got.Why, got.Assumes, c.statement)
		}
	}
}
