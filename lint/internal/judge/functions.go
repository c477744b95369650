package judge

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// effect says what a call depends on, and does.
type effect uint8

const (
	pure     effect = iota // depends on its arguments, and on the rows that it reads
	clock                  // the time
	random                 // different at each call
	changes                // changes something
	stranger               // not known
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}

//nolint:gochecknoglobals // constants.
var (
	clocks = set(`now current_timestamp current_date current_time localtime localtimestamp clock_timestamp statement_timestamp
		transaction_timestamp timeofday sysdate utc_timestamp utc_date utc_time curdate curtime unix_timestamp unixepoch`)
	randoms = set(`random rand random_normal gen_random_uuid uuid_generate_v1 uuid_generate_v4 uuid uuid_short uuidv4 uuidv7 gen_random_bytes gen_salt pgp_sym_encrypt pgp_pub_encrypt
		random_bytes randomblob sys_guid lastval last_insert_id currval pg_current_xact_id txid_current pg_backend_pid connection_id
		row_count found_rows changes total_changes last_insert_rowid is_free_lock is_used_lock inet_client_addr inet_client_port inet_server_addr
		inet_server_port pg_blocking_pids pg_conf_load_time pg_current_snapshot pg_current_wal_insert_lsn pg_current_wal_lsn
		pg_current_xact_id_if_assigned pg_database_size pg_indexes_size pg_is_in_recovery pg_last_wal_receive_lsn pg_last_wal_replay_lsn
		pg_last_xact_replay_timestamp pg_my_temp_schema pg_postmaster_start_time pg_relation_filenode pg_relation_filepath pg_relation_size
		pg_sequence_last_value pg_table_size pg_tablespace_size pg_total_relation_size pg_trigger_depth pg_xact_commit_timestamp pg_xact_status
		txid_current_if_assigned txid_current_snapshot txid_status`)
	actors = set(`nextval setval pg_notify pg_advisory_lock pg_advisory_lock_shared pg_try_advisory_lock pg_advisory_unlock pg_advisory_unlock_all
		dblink dblink_exec lo_create lo_unlink lo_import lo_put lo_from_bytea set_config pg_terminate_backend pg_cancel_backend pg_reload_conf get_lock release_lock
		release_all_locks setseed load_extension writefile pg_logical_emit_message sleep pg_sleep benchmark load_file`)
	// sessions depend on the connection, its user and its settings.
	sessions = set(`current_setting current_user session_user user system_user current_role current_database current_catalog current_schema
		current_schemas database schema pg_client_encoding get_current_ts_config`)
	// settings are the system variables of MySQL that only an operator changes.
	settings = set(`sql_mode character_set_client character_set_connection character_set_database character_set_results character_set_server
		collation_connection collation_database collation_server time_zone system_time_zone autocommit foreign_key_checks unique_checks sql_quote_show_create
		lower_case_table_names auto_increment_increment auto_increment_offset max_allowed_packet group_concat_max_len lock_wait_timeout innodb_lock_wait_timeout
		transaction_isolation tx_isolation max_connections wait_timeout hostname port datadir basedir version version_comment server_id`)
	// operators are those that the databases have of their own; others call a function.
	operators = set(`= <> < <= > >= + - * / % & | ^ << >> ~ || -> ->> #> #>> #- @> <@ ? ?| ?& && -|- &< &> <<| |>> &<| |&> @? @@ @@@
		|/ ||/ !! @ <-> <=> <#> <% %> <<% %>> ~~ ~~* !~~ !~~* ~* !~ !~* ^@ ~= ~<~ ~<=~ ~>=~ ~>~ == != <@> ## @-@ ?# ?- ?-| ?||`)
	// timed take the time when an argument says so, or when one is missing.
	timed = set(`date time datetime julianday strftime unixepoch timediff age unix_timestamp`)
)

// isVariable reports whether a call reads a system variable of MySQL.
func isVariable(name string) bool { return strings.HasPrefix(name, "@@") }

// effectOf returns what one call does, its arguments left out.
func (j *judge) effectOf(c *tree.Call) effect {
	name := c.Name
	switch {
	case c.Immutable:
		return pure
	case c.Schema != "" && c.Schema != "pg_catalog" && c.Schema != "sqlc":
		return stranger
	case actors[name]:
		return changes
	case settings[strings.TrimPrefix(name, "@@")] && isVariable(name):
		return pure
	case !builtins[j.dialect][name]:
		return stranger
	case timed[name]:
		return j.timedEffect(c)
	case clocks[name]:
		return clock
	case randoms[name]:
		return random
	}
	return pure
}

// effects are all that an expression does.
type effects struct {
	clock, random, acts, stranger bool
	names                         [stranger + 1]string // of the last that does each
}

// addEffect adds an effect, and what has it.
func (f *effects) addEffect(of effect, name string) {
	switch of {
	case pure:
		return
	case clock:
		f.clock = true
	case random:
		f.random = true
	case changes:
		f.acts = true
	case stranger:
		f.stranger = true
	}
	f.names[of] = name
}

// worst returns what has the worst effect.
func (f effects) worst() string {
	return cmp.Or(f.names[changes], f.names[random], f.names[stranger], f.names[clock])
}

func (f effects) pure() bool { return f == effects{} }

// effectsOf collects the effects of an expression and of the queries in it.
func (j *judge) effectsOf(e tree.Expr) (f effects) {
	tree.Exprs(e, j.adding(&f))
	return f
}

// adding returns a visitor of expressions that adds their effects.
func (j *judge) adding(f *effects) func(tree.Expr) bool {
	return func(e tree.Expr) bool { return f.add(j, e) }
}

func (f *effects) add(j *judge, e tree.Expr) bool {
	switch e := e.(type) {
	case *tree.Raw:
		f.addEffect(stranger, e.Why)
	case *tree.Cast:
		if l, ok := e.Value.(*tree.Literal); ok && l.Kind == tree.String && timeWord(l.Text) {
			f.addEffect(clock, l.Text)
		} else if j.readsTime(e) {
			f.addEffect(clock, "the "+e.Type+" of a text, which is \"now\" in some row,")
		}
	case *tree.Case:
		f.words([]tree.Expr{e.Operand, e.Else})
		for _, w := range e.Whens {
			f.words([]tree.Expr{w.If, w.Then})
		}
	case *tree.Op:
		f.words(e.Args)
		if !operators[e.Name] && strings.IndexFunc(e.Name, unicode.IsLetter) < 0 {
			f.addEffect(stranger, "operator "+e.Name)
		}
	case *tree.List:
		f.words(e.Items)
	case *tree.Call:
		f.words(e.Args)
		of := j.effectOf(e)
		f.addEffect(of, e.Name+"()")
		if of == stranger && randoms[e.Name] && e.Schema == "" { // of an extension
			f.addEffect(random, e.Name+"()")
		}
	}
	return true
}

// words looks for texts that may mean the time of the run: at < 'now'.
func (f *effects) words(list []tree.Expr) {
	for _, e := range list {
		if l, ok := e.(*tree.Literal); ok && l.Kind == tree.String && timeWord(l.Text) {
			f.addEffect(clock, l.Text)
		}
	}
}

// timeWord reports whether a text means another time at each run: 'now'::timestamptz.
// PostgreSQL also reads it in arrays, in ranges and with blanks or commas around it: '[today,tomorrow)'.
func timeWord(s string) bool {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(words) > 3 && len(s) >= 30 { // prose
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool {
		return word == "now" || word == "today" || word == "tomorrow" || word == "yesterday"
	})
}

// and joins the effects of two expressions.
func (f effects) and(g effects) effects {
	for i, name := range f.names {
		f.names[i] = cmp.Or(name, g.names[i])
	}
	return effects{f.clock || g.clock, f.random || g.random, f.acts || g.acts, f.stranger || g.stranger, f.names}
}
