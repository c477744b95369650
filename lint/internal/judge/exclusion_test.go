package judge_test

import (
	"testing"

	"github.com/semel-dev/semel/lint/internal/judge"
)

const excluded = "create table x(id bigserial primary key, c text, n int, constraint x_c exclude using hash (c with =));"

// An exclusion constraint that compares all parts by = refuses a second row, as a unique key does.
var exclusionSound = []hole{
	{"exclusion by =", pg, excluded, "insert into x(c,n) values ('a',1)"},
	{"exclusion by =, conflict ignored", pg, excluded, "insert into x(c,n) values ('a',1) on conflict do nothing"},
	{"exclusion by =, named by the conflict", pg, excluded, "insert into x(c,n) values ('a',1) on conflict on constraint x_c do nothing"},
	{"exclusion by =, conflict with another key", pg, excluded, "insert into x(c,n) values ('a',1) on conflict (id) do update set n=excluded.n"},
	{"exclusion of ranges by =", pg, "create table x(id bigserial, a int4range, b int4range, exclude using gist (a with =, b with =));", "insert into x(a,b) values ('[1,2)','empty')"},
	{"exclusion of an expression", pg, "create table x(id bigserial, c text, constraint x_c exclude using hash (lower(c) with =));", "insert into x(c) values ('A')"},
	{"exclusion among some rows", pg, "create table x(id bigserial, c text, gone text, exclude using btree (c with =) where (gone is null));", "insert into x(c) values ('A')"},
	{"exclusion that is checked late", pg, "create table x(id bigserial, c text, exclude using btree (c with =) deferrable initially deferred);", "insert into x(c) values ('A')"},
	{"exclusion that is added", pg, "create table x(id bigserial, c text); alter table only x add constraint x_c exclude using hash (c with =);", "insert into x(c) values ('A')"},
	{"exclusion that is added without a name", pg, "create table x(id bigserial, c text); alter table x add exclude using hash (c with =); alter table x rename constraint x_c_excl to later;", "insert into x(c) values ('A')"},
}

// One by another operator, of other rows or of NULL does not, and neither does one that is dropped.
var exclusionHoles = []hole{
	{"exclusion by overlap", pg, "create table x(id bigserial, r int4range not null, exclude using gist (r with &&));", "insert into x(r) values ('empty')"},
	{"exclusion by = and by overlap", pg, "create table x(id bigserial, a int4range not null, r int4range not null, exclude using gist (a with =, r with &&));", "insert into x(a,r) values ('[1,2)','empty')"},
	{"exclusion by an operator of another schema", pg, "create schema own; create function own.never(text, text) returns boolean language sql immutable as 'select false'; create operator own.= (leftarg=text, rightarg=text, procedure=own.never, commutator=operator(own.=)); create operator class own.never_ops for type text using hash as operator 1 own.=, function 1 hashtext(text); create table x(id bigserial, c text not null, exclude using hash (c own.never_ops with operator(own.=)));", "insert into x(c) values ('a')"},
	{"exclusion of NULL", pg, excluded, "insert into x(n) values (1)"},
	{"exclusion of a parameter among other rows", pg, "create table x(id bigserial, c text not null, gone text, exclude using btree (c with =) where (gone is null));", "insert into x(c,gone) values ('a','x')"},
	{"dropped exclusion", pg, excluded + " alter table x drop constraint x_c;", "insert into x(c,n) values ('a',1)"},
	{"dropped exclusion without a name", pg, "create table x(id bigserial, c text not null, exclude using hash (c with =)); alter table x drop constraint x_c_excl;", "insert into x(c) values ('a')"},
	{"dropped exclusion of an expression", pg, "create table x(id bigserial, c text not null, exclude using hash (lower(c) with =)); alter table x drop constraint x_lower_excl;", "insert into x(c) values ('a')"},
	{"exclusion, and an update by another key", pg, "create table x(id int primary key, c text not null, n int not null, exclude using hash (c with =));", "insert into x(id,c,n) values (1,'a',1) on conflict (id) do update set n=x.n+1"},
}

// What a second run is refused with, and that ON CONFLICT finds no row by an exclusion constraint.
func TestExclusionRefuses(t *testing.T) {
	t.Parallel()
	s := learn(pg, excluded)
	got := verdict(t, pg, s, "insert into x(c,n) values ('a',1)")
	if got.Repeat != judge.RepeatRefused || got.Refusal != "SQLSTATE 23505 or 23P01" {
		t.Errorf("got %v, %q", got.Repeat, got.Refusal)
	}
	if got := verdict(t, pg, s, "insert into x(c,n) values ('a',1) on conflict (c) do update set n=excluded.n"); got.Repeat == judge.RepeatSame {
		t.Error("said to find its row by the exclusion constraint")
	}
}
