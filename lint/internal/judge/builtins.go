package judge

import "github.com/semel-dev/semel/internal/dialect"

// builtins are the functions of each database that are known here, and keywords that are like functions. Any other
// function is one of the user's, or of an extension, and may do anything: a name means nothing in another dialect.
//
//nolint:gochecknoglobals // a constant.
var builtins = map[dialect.Dialect]map[string]bool{
	dialect.PostgreSQL: set(everywhere + `abbrev acosd acosh age area array_agg array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position
		array_positions array_prepend array_remove array_replace array_to_json array_to_string array_to_tsvector array_upper ascii asind asinh
		atan2d atand atanh bit_and bit_count bit_length bit_or bit_xor bool_and bool_or bound_box box broadcast btrim cardinality cbrt center
		char_length character_length chr circle clock_timestamp col_description concat concat_ws convert convert_from convert_to cosd cosh cot
		cotd current_catalog current_database current_role current_schema current_schemas current_setting current_user currval date_bin date_part
		date_trunc datemultirange daterange decode diagonal diameter div encode enum_first enum_last enum_range every extract factorial family
		format_type gcd gen_random_uuid generate_series generate_subscripts get_bit get_byte get_current_ts_config getdatabaseencoding greatest
		grouping has_any_column_privilege has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege has_function_privilege
		has_language_privilege has_parameter_privilege has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege
		has_tablespace_privilege has_type_privilege hashtext hashtextextended height host hostmask inet_client_addr inet_client_port inet_merge
		inet_same_family inet_server_addr inet_server_port initcap int4multirange int4range int8multirange int8range is_normalized isclosed
		isempty isfinite isopen json_agg json_array_elements json_array_elements_text json_array_length json_build_array json_build_object
		json_each json_each_text json_extract_path json_extract_path_text json_object_agg json_object_keys 
		json_strip_nulls json_to_tsvector json_typeof jsonb_agg jsonb_array_elements
		jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path
		jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_match jsonb_path_query
		jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_set jsonb_set_lax
		jsonb_strip_nulls jsonb_to_tsvector jsonb_typeof justify_days justify_hours justify_interval lastval
		lcm least left line localtime localtimestamp lower_inc lower_inf lpad lseg macaddr8_set7bit make_date make_interval make_time
		make_timestamp make_timestamptz masklen md5 min_scale multirange netmask network normalize npoints num_nonnulls num_nulls nummultirange
		numnode numrange obj_description octet_length overlay parse_ident path pclose percentile_cont percentile_disc pg_advisory_xact_lock
		pg_backend_pid pg_blocking_pids pg_char_to_encoding pg_client_encoding pg_collation_for pg_collation_is_visible pg_column_size
		pg_conf_load_time pg_current_snapshot pg_current_wal_insert_lsn pg_current_wal_lsn pg_current_xact_id pg_current_xact_id_if_assigned
		pg_database_size pg_describe_object pg_encoding_to_char pg_function_is_visible pg_get_catalog_foreign_keys pg_get_constraintdef
		pg_get_expr pg_get_function_arg_default pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result
		pg_get_functiondef pg_get_indexdef pg_get_keywords pg_get_object_address pg_get_partition_constraintdef pg_get_partkeydef pg_get_ruledef
		pg_get_serial_sequence pg_get_statisticsobjdef pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_has_role pg_identify_object
		pg_index_column_has_property pg_index_has_property pg_indexam_has_property pg_indexes_size pg_is_in_recovery pg_is_other_temp_schema
		pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_my_temp_schema pg_operator_is_visible pg_options_to_table
		pg_partition_root pg_postmaster_start_time pg_relation_filenode pg_relation_filepath pg_relation_size pg_sequence_last_value
		pg_sequence_parameters pg_size_bytes pg_size_pretty pg_snapshot_xmax pg_snapshot_xmin pg_table_is_visible pg_table_size pg_tablespace_size
		pg_total_relation_size pg_trigger_depth pg_try_advisory_xact_lock pg_type_is_visible pg_typeof pg_visible_in_snapshot pg_wal_lsn_diff
		pg_walfile_name pg_xact_commit_timestamp pg_xact_status phraseto_tsquery plainto_tsquery point polygon popen position querytree
		quote_ident quote_literal quote_nullable radius random range_merge regexp_count regexp_instr regexp_like regexp_match regexp_matches
		regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat reverse right row_security_active row_to_json rpad scale
		session_user set_bit set_byte set_masklen setweight sha224 sha256 sha384 sha512 shobj_description sind sinh slope split_part starts_with
		statement_timestamp stddev string_agg string_to_array string_to_table strip strpos tand tanh text timeofday timezone to_ascii to_char
		to_date to_hex to_json to_jsonb to_number to_regclass to_regcollation to_regnamespace to_regoper to_regoperator to_regproc to_regprocedure
		to_regrole to_regtype to_timestamp to_tsquery to_tsvector transaction_timestamp translate trim_array trim_scale trunc ts_delete ts_filter
		ts_headline ts_rank ts_rank_cd tsmultirange tsquery_phrase tsrange tstzmultirange tstzrange tsvector_to_array txid_current
		txid_current_if_assigned txid_current_snapshot txid_snapshot_xmax txid_snapshot_xmin txid_status txid_visible_in_snapshot unistr unnest
		upper_inc upper_inf user variance version websearch_to_tsquery width width_bucket xmlagg`),
	dialect.MySQL: set(everywhere + `adddate addtime aes_decrypt aes_encrypt ascii bin bit_and bit_count bit_length bit_or bit_xor cast char_length character_length charset
		chr coercibility collation concat concat_ws connection_id conv convert convert_tz cot crc32 curdate current_role current_user curtime
		database date_add date_format date_sub datediff datetime day dayname dayofmonth dayofweek dayofyear decode div elt encode every export_set
		extract extractvalue field find_in_set found_rows from_base64 from_days greatest group_concat hex hour if ifnull inet6_aton inet6_ntoa
		inet_aton inet_ntoa insert instr is_free_lock is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 is_used_lock isnull json_array
		json_array_append json_array_insert json_arrayagg json_compact json_contains json_contains_path json_depth json_detailed json_equals
		json_exists json_extract json_insert json_keys json_length json_loose json_merge json_merge_patch json_merge_preserve json_normalize
		json_objectagg json_overlaps json_pretty json_query json_quote json_remove json_replace json_search json_set json_type json_unquote
		json_valid json_value last_day last_insert_id lastval lcase least left lengthb localtime localtimestamp locate log2 lpad make_set makedate
		maketime md5 microsecond mid minute month monthname name_const natural_sort_key nvl nvl2 oct octet_length ord percentile_cont
		percentile_disc period_add period_diff position quarter quote rand random_bytes regexp regexp_instr regexp_replace regexp_substr repeat
		reverse right row row_count rpad schema sec_to_time second session_user sha sha1 sha2 soundex space st_area st_asgeojson st_astext
		st_aswkb st_centroid st_contains st_distance st_distance_sphere st_envelope st_equals st_geomfromgeojson st_geomfromtext st_geomfromwkb
		st_intersects st_length st_pointfromtext st_srid st_within st_x st_y stddev str_to_date strcmp subdate substring_index subtime sys_guid
		sysdate system_user time_format time_to_sec timediff timestampadd timestampdiff to_base64 to_char to_days to_seconds truncate ucase
		uncompress uncompressed_length unhex unicode unix_timestamp updatexml user utc_date utc_time utc_timestamp uuid uuid_short variance
		version week weekday weekofyear year yearweek`),
	dialect.SQLite: set(everywhere + `acosh asinh atanh changes cosh datetime glob group_concat hex ifnull iif instr json json_array json_array_length json_each
		json_error_position json_extract json_group_array json_group_object json_insert json_patch json_pretty json_quote json_remove json_replace
		json_set json_tree json_type json_valid jsonb jsonb_array jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch
		jsonb_remove jsonb_replace jsonb_set julianday last_insert_rowid likelihood likely log2
		printf quote random randomblob sinh soundex sqlite_compileoption_get sqlite_compileoption_used sqlite_source_id sqlite_version strftime
		subtype tanh total total_changes trunc typeof unicode unistr unistr_quote unixepoch unlikely zeroblob`),
}

const everywhere = `abs acos asin atan atan2 avg ceil ceiling char coalesce cos count cume_dist current_date current_time current_timestamp date degrees
		dense_rank exp first_value floor format json_object lag last_value lead length like ln log log10 lower ltrim max min mod now nth_value ntile
		nullif percent_rank pi pow power radians rank replace round row_number rtrim sign sin sqrt substr substring sum tan time trim upper
		`
