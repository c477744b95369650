package lint

import "github.com/semel-dev/semel/lint/internal/judge"

// rulebook has all rules, in the order of their verdicts. docs/lint.md is written from it.
//
//nolint:gochecknoglobals // constant
var rulebook = []entry{
	{
		id: string(judge.ReadsOnly), verdict: Safe, means: "the statement only reads",
		example: "SELECT * FROM t WHERE id = $1 FOR UPDATE", sqlite: "SELECT * FROM t WHERE id = ?",
	},
	{
		id: string(judge.PlainValues), verdict: Safe, means: "each run writes the same values to the same rows",
		example: "UPDATE t SET status = 'done' WHERE id = $1",
	},
	{
		id: string(judge.SettledValue), verdict: Safe, means: "the new value is a function of the old one that changes nothing the second time",
		example: "UPDATE t SET n = greatest(n, $2) WHERE id = $1", sqlite: "UPDATE t SET n = max(n, ?) WHERE id = ?",
	},
	{
		id: string(judge.Guarded), verdict: Safe, means: "the condition is false for the rows that the first run has changed",
		example: "UPDATE t SET n = n - 1, version = version + 1 WHERE id = $1 AND version = $2",
	},
	{
		id: string(judge.Deletes), verdict: Safe, means: "the first run has deleted all that the condition finds",
		example: "DELETE FROM t WHERE status = 'old'",
	},
	{
		id: string(judge.UniqueKey), verdict: Safe, means: "a unique key refuses a second row",
		example: "INSERT INTO note (ref) VALUES ($1) ON CONFLICT DO NOTHING", mysql: "INSERT IGNORE INTO note (ref) VALUES (?)",
	},
	{
		id: string(judge.SameRow), verdict: Safe, means: "the upsert writes the row that the first run has inserted",
		example: "INSERT INTO note (ref, n) VALUES ($1, $2) ON CONFLICT (ref) DO UPDATE SET n = excluded.n",
		mysql:   "INSERT INTO note (ref, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = VALUES(n)",
	},
	{
		id: string(judge.FedOnce), verdict: Safe, means: "it is fed by rows that exist for the first run only",
		example: "WITH d AS (DELETE FROM t WHERE id = $1 RETURNING status) INSERT INTO log (line) SELECT status FROM d", mysql: absent, sqlite: absent,
	},
	{
		id: string(judge.Definition), verdict: Safe, means: "a second run of the definition is refused, or does nothing",
		example: "CREATE INDEX t_n ON t (n)",
	},
	{
		id: string(judge.Timestamp), verdict: SafeButTime, means: "only a time that the database reads from its clock differs", cure: "pass the time as a parameter",
		example: "UPDATE t SET seen = now() WHERE id = $1", sqlite: "UPDATE t SET seen = datetime('now') WHERE id = ?",
	},
	{
		id: string(judge.RelativeValue), verdict: NotSafe, means: "the new value is computed from the old one, so each run changes it again",
		cure: "a version or a state in the condition, or a claimed key", example: "UPDATE t SET n = n - 1 WHERE id = $1",
	},
	{
		id: string(judge.RandomValue), verdict: NotSafe, means: "each run makes another random value or number of a sequence", cure: "make the value before, and pass it",
		example: "UPDATE t SET tag = gen_random_uuid()::text WHERE id = $1", mysql: "UPDATE t SET tag = uuid() WHERE id = ?",
		sqlite: "UPDATE t SET tag = hex(randomblob(8)) WHERE id = ?",
	},
	{
		id: string(judge.SideEffect), verdict: NotSafe, means: "a query calls a function that changes something at every call", cure: "call it once, and pass what it returns",
		example: "SELECT nextval('log_id_seq')", mysql: "SELECT get_lock('x', 1)", sqlite: absent,
	},
	{
		id: string(judge.NoUniqueKey), verdict: NotSafe, means: "no unique key refuses the second row", cure: "a unique key over what makes the row the same",
		example: "INSERT INTO log (line) VALUES ($1)",
	},
	{
		id: string(judge.DifferentValues), verdict: NotSafe, means: "the upsert inserts one value, and sets another one in the row that it finds", cure: "SET n = excluded.n",
		example: "INSERT INTO note (ref, n) VALUES ($1, 5) ON CONFLICT (ref) DO UPDATE SET n = 7", mysql: "INSERT INTO note (ref, n) VALUES (?, 5) ON DUPLICATE KEY UPDATE n = 7",
	},
	{
		id: string(judge.MovingSelection), verdict: NotSafe, means: "the next run picks other rows, because the first has changed what they are picked by",
		cure:    "pick the row first, then change it by its key",
		example: "UPDATE t SET status = 'taken' WHERE id = (SELECT id FROM t WHERE status = 'free' ORDER BY id LIMIT 1)",
		mysql:   "UPDATE t SET status = 'taken' WHERE status = 'free' ORDER BY id LIMIT 1",
	},
	{
		id: string(judge.OpenOrder), verdict: NotSafe, means: "LIMIT without a complete order leaves open which rows it takes", cure: "order by a unique column",
		example: "UPDATE t SET n = 7 WHERE id = (SELECT id FROM t LIMIT 1)", mysql: "UPDATE t SET n = 7 LIMIT 1",
	},
	{
		id: string(judge.Triggered), verdict: NotSafe, means: "a trigger or a rule of the table changes something at each run", cure: "a condition that is false after the first run, where the trigger fires for each row",
		example: "UPDATE told SET n = 5 WHERE id = $1",
	},
	{
		id: string(judge.Undefined), verdict: NotSafe, means: "each run defines one more object, because it has no name", cure: "name the index",
		example: "CREATE INDEX ON t (n)", mysql: "ALTER TABLE t ADD INDEX (n)", sqlite: absent,
	},
	{
		id: string(judge.Cascades), verdict: NotSafe, means: "deleting a row changes others so that the condition finds them", cure: "name the rows by their key",
		example: "DELETE FROM node WHERE parent IS NULL",
	},
	{
		id: string(judge.Opaque), verdict: CannotTell, means: "the linter cannot see what the statement does, or cannot read it", cure: "write the statements themselves, or answer with semel:safe and the reason",
		example: "CALL settle_accounts()", sqlite: "UPDAT t SET n = 5",
	},
	{
		id: string(judge.UnknownTable), verdict: CannotTell, means: "the table is not in the schema, so its keys and triggers are not known", cure: "give its definition with --schema, or a database with --dsn",
		example: "UPDATE elsewhere SET n = 5",
	},
	{
		id: string(judge.UnknownFunction), verdict: CannotTell, means: "a function is not known: it may change something, or return something else each time", cure: "call it before, and pass what it returns",
		example: "UPDATE t SET n = price_of(id)",
	},
	{
		id: string(judge.Unproven), verdict: CannotTell, means: "no rule shows that a second run changes nothing, and none that it does", cure: "a simpler statement, or semel:safe with the reason",
		example: "UPDATE t SET tag = left(trim(tag), 3)", sqlite: "UPDATE t SET tag = substr(trim(tag), 1, 3)",
	},
	{id: "variable-text", verdict: CannotTell, means: "a part of a text in Go is not known, and decides what a write does", cure: "write the statement out, or answer with semel:safe and the reason"},
	{id: "does-not-compile", verdict: CannotTell, means: "a Go package or one that it imports does not compile, so none of its statements is judged", cure: "fix what the compiler says"},
	{id: withoutReason, verdict: CannotTell, means: "a comment semel:safe gives no reason", cure: "write the reason behind the word"},
	{
		id: "check-then-insert", verdict: NotSafe, means: "in Go, a SELECT decides that a row is missing, and no unique key stops a second INSERT",
		cure: "a unique key over what the SELECT asks for; then INSERT first, and take its refusal for found",
	},
	{
		id: "read-modify-write", verdict: NotSafe, means: "in Go, an UPDATE writes back what was computed from a SELECT of the same row, without a lock or a version",
		cure: "let the UPDATE compute it with a guard, read with FOR UPDATE in the same transaction, or compare a version",
	},
	{
		id: "unguarded-handler", verdict: NotSafe, means: "in Go, a handler of POST, PUT or PATCH or a gRPC method reaches a write that is not safe, and passes no guard",
		cure: "wrap the handler with semelhttp, do the work in semel.Do, or name the guard that it has with --guards",
	},
	{
		id: "retry-loop", verdict: NotSafe, means: "in Go, a write that is not safe is repeated after any error, even when only its answer was lost",
		cure: "repeat only what is known to be rolled back, or do it in semel.Do with one key for all attempts",
	},
	{
		id: "interceptor-order", verdict: NotSafe, means: "in Go, a retry is outside of what makes the idempotency key, so each attempt has another one",
		cure: "put the one that makes the key before the one that repeats",
	},
	{id: NotNeeded, verdict: Safe, means: "a comment semel:safe answers for a statement that is safe without it", cure: "remove the comment"},
}
