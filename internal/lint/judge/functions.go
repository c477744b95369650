package judge

import (
	"strings"

	"github.com/semel-dev/semel/internal/lint/tree"
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
	randoms = set(`random rand random_normal gen_random_uuid uuid_generate_v1 uuid_generate_v4 uuid uuid_short uuidv4 uuidv7 gen_random_bytes
		random_bytes randomblob sys_guid lastval last_insert_id currval pg_current_xact_id txid_current pg_backend_pid connection_id
		row_count found_rows changes total_changes last_insert_rowid`)
	actors = set(`nextval setval pg_notify pg_advisory_lock pg_advisory_lock_shared pg_try_advisory_lock pg_advisory_unlock pg_advisory_unlock_all
		dblink dblink_exec lo_create lo_unlink lo_import lo_put lo_from_bytea set_config pg_terminate_backend pg_cancel_backend pg_reload_conf get_lock release_lock
		release_all_locks load_extension writefile pg_logical_emit_message sleep pg_sleep benchmark load_file`)
	knowns = set(`abs acos age any_value array_agg array_append array_cat array_dims array_length array_lower array_ndims array_position
		array_positions array_prepend array_remove array_replace array_to_json array_to_string array_upper ascii asin atan atan2 avg
		bit_and bit_count bit_length bit_or bit_xor bool_and bool_or btrim cardinality cast ceil ceiling char char_length character_length chr coalesce
		concat concat_ws conv convert convert_tz convert_from convert_to cos cot count crc32 cume_dist date date_add date_bin date_diff date_format date_part
		date_sub date_trunc datediff day dayname dayofmonth dayofweek dayofyear decode degrees dense_rank div elt encode every exp
		export_set extract field find_in_set first_value floor format from_base64 from_days generate_series generate_subscripts glob greatest group_concat
		grouping hashtext hashtextextended hex hour if ifnull iif inet_aton inet_ntoa initcap instr isnull json_agg json_array json_array_append json_array_elements
		json_array_elements_text json_array_insert json_array_length json_arrayagg json_build_array json_build_object json_contains json_contains_path
		json_depth json_each json_each_text json_extract json_extract_path json_extract_path_text json_group_array json_group_object json_insert
		json_keys json_length json_merge_patch json_merge_preserve json_object json_object_agg json_object_keys json_objectagg json_overlaps json_patch
		json_quote json_remove json_replace json_search json_set json_strip_nulls json_tree json_type json_typeof json_unquote json_valid json_value
		jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text
		jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_query
		jsonb_path_query_first jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_typeof justify_days justify_hours lag last_day last_value lcase lead
		least left length like likelihood likely ln locate log log10 log2 lower lpad ltrim make_date make_interval make_time make_timestamp make_timestamptz
		makedate maketime max md5 microsecond mid min minute mod month monthname nth_value ntile nullif num_nonnulls num_nulls nvl oct octet_length ord overlay
		percent_rank percentile_cont percentile_disc pg_advisory_xact_lock pg_try_advisory_xact_lock pg_column_size pg_size_pretty
		pi position pow power prefix printf quarter quote quote_ident quote_literal quote_nullable radians rank regexp regexp_instr regexp_like regexp_match
		regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right round row row_number row_to_json rpad
		rtrim scale sec_to_time second sha1 sha2 sha224 sha256 sha384 sha512 sign sin soundex space split_part sqrt starts_with stddev strcmp
		str_to_date string_agg string_to_array string_to_table strpos substr substring substring_index sum tan time_format time_to_sec timediff
		timestampadd timestampdiff timezone to_base64 to_char to_date to_days to_json to_jsonb to_number to_timestamp to_tsquery to_tsvector total translate trim
		trim_array trunc truncate typeof ucase unhex unicode unistr unlikely unnest upper variance week weekday weekofyear width_bucket xmlagg year yearweek`)
	// timed take the time when an argument says so, or when one is missing.
	timed = set(`date time datetime julianday strftime unixepoch timediff age unix_timestamp`)
)

// effectOf returns what one call does, its arguments left out.
func effectOf(c *tree.Call) effect {
	name := c.Name
	switch {
	case c.Schema != "" && c.Schema != "pg_catalog" && c.Schema != "sqlc":
		return stranger
	case actors[name]:
		return changes
	case timed[name]:
		return timedEffect(c)
	case clocks[name]:
		return clock
	case randoms[name]:
		return random
	case knowns[name]:
		return pure
	}
	return stranger
}

// timedEffect looks for 'now', or for an argument that is left out, which means it.
func timedEffect(c *tree.Call) effect {
	least := map[string]int{"age": 2, "strftime": 2}[c.Name]
	if len(c.Args) < max(1, least) {
		return clock
	}
	for _, arg := range c.Args {
		l := literal(arg)
		if l == nil && c.Name != "age" { // it may be 'now'
			if _, column := arg.(*tree.Column); !column {
				if _, call := arg.(*tree.Call); !call {
					return clock
				}
			}
		}
		if l != nil && (strings.EqualFold(l.Text, "now") || strings.EqualFold(l.Text, "localtime") || strings.EqualFold(l.Text, "subsec")) {
			return clock
		}
	}
	return pure
}

// effects returns the worst of what an expression does: in this order clock, stranger, random, acts.
type effects struct {
	clock, random, acts, stranger bool
	name                          string // of the last function that is not pure
}

func (f effects) pure() bool { return f == effects{} }

// effectsOf collects the effects of an expression and of the queries in it.
func effectsOf(e tree.Expr) (f effects) {
	tree.Exprs(e, f.add)
	return f
}

func (f *effects) add(e tree.Expr) bool {
	switch e := e.(type) {
	case *tree.Raw:
		f.stranger, f.name = true, e.Why
	case *tree.Cast:
		if l, ok := e.Value.(*tree.Literal); ok && l.Kind == tree.String && timeWord(l.Text) {
			f.clock, f.name = true, l.Text
		}
	case *tree.Op:
		f.words(e.Args)
	case *tree.List:
		f.words(e.Items)
	case *tree.Call:
		f.words(e.Args)
		switch effectOf(e) {
		case pure:
			return true
		case clock:
			f.clock = true
		case random:
			f.random = true
		case changes:
			f.acts = true
		case stranger:
			f.stranger = true
		}
		f.name = e.Name + "()"
	}
	return true
}

// words looks for texts that may mean the time of the run: at < 'now'.
func (f *effects) words(list []tree.Expr) {
	for _, e := range list {
		if l, ok := e.(*tree.Literal); ok && l.Kind == tree.String && timeWord(l.Text) {
			f.clock, f.name = true, l.Text
		}
	}
}

// timeWord reports whether a text means another time at each run: 'now'::timestamptz.
func timeWord(s string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(s)) {
		switch word {
		case "now", "today", "tomorrow", "yesterday":
			return !strings.ContainsFunc(s, func(r rune) bool { return r == ',' || r == '.' }) && len(s) < 30
		}
	}
	return false
}

// and joins the effects of two expressions.
func (f effects) and(g effects) effects {
	if f.name == "" {
		f.name = g.name
	}
	return effects{f.clock || g.clock, f.random || g.random, f.acts || g.acts, f.stranger || g.stranger, f.name}
}
