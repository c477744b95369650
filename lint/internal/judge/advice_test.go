package judge_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/schema"
)

// What is not safe comes with what would make it safe, in the names of the schema.
func TestAdvice(t *testing.T) {
	t.Parallel()
	const ddl = `create table "Order"(id int primary key, ref varchar(20), total int, revision int not null default 0, at timestamp null); create table "Ev"(ref varchar(20), total int, at timestamp null); create table acc(id int primary key, n int); create table log(id int, msg text, at timestamp null); create view few as select id, n from acc where n > 0;`
	for _, one := range []struct {
		d               dialect.Dialect
		statement, want string
	}{
		{pg, `update acc set n=n-$1 where id=$2`, "ALTER TABLE acc ADD COLUMN version bigint NOT NULL DEFAULT 0; then SET …, version = version + 1 WHERE … AND version = $3"},
		{pg, `update "Order" set total=total+1 where id=$1`, "SET …, revision = revision + 1 WHERE … AND revision = $2"},
		{lite, `update acc set n=n-? where id=?`, "AND version = ?"},
		{pg, "with d as (delete from log where id=1 returning id), o as (update log set msg='x' where id=3) update acc set n=n-1 from s where acc.id=s.id", "ALTER TABLE acc ADD COLUMN version"},
		{pg, "with d as (update log set msg='x' where id=3 returning id) update acc set n=n-1 where acc.id=3", "ALTER TABLE acc ADD COLUMN version"},
		{pg, "update few set n=n-1", "ALTER TABLE acc ADD COLUMN version"},
		{pg, `insert into log(at) values ($1)`, "ALTER TABLE log ADD COLUMN request_id varchar(100) UNIQUE"},
		{pg, `insert into "Ev"(ref, total, at) values ($1,$2,$3)`, `CREATE UNIQUE INDEX ev_ref_key ON "Ev" (ref)`},
		{my, "insert into log(id, msg) values (?,?)", "CREATE UNIQUE INDEX log_id_key ON log (id)"},
		{my, "insert into acc(id,n) values (?,5) on duplicate key update n=7", "SET n = VALUES(n)"},
		{pg, "insert into acc(id,n) values ($1,5) on conflict (id) do update set n=7", "SET n = excluded.n"},
		{pg, "create index on acc (n)", "CREATE INDEX IF NOT EXISTS acc_n_idx ON acc (n)"},
		{pg, "select nextval('s')", "semel.Do"},
	} {
		s := &schema.Schema{}
		text := ddl
		if one.d == my {
			text = strings.ReplaceAll(ddl, `"`, "`")
		}
		for _, p := range parse.Statements(one.d, text) {
			s.Apply(p.Statement)
		}
		if got := verdict(t, one.d, s, one.statement); got.Verdict != judge.NotSafe || !strings.Contains(got.Guard, one.want) {
			t.Errorf("%s: %s: got %s with %q, want %q", one.d, one.statement, got.Verdict, got.Guard, one.want)
		}
	}
}
