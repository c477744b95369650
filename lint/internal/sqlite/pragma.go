package sqlite

import (
	"strings"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// pragmas are those of SQLite. They read, or set the connection or a field of the file's header,
// for which a second time changes nothing. None changes the rows of a table, but for temp_store, which
// drops the temporary tables when it changes. Extensions and other builds add more, which may do anything.
const pragmas = ` analysis_limit application_id auto_vacuum automatic_index busy_timeout cache_size cache_spill
 case_sensitive_like cell_size_check checkpoint_fullfsync collation_list compile_options count_changes
 data_store_directory data_version database_list default_cache_size defer_foreign_keys empty_result_callbacks
 encoding foreign_key_check foreign_key_list foreign_keys freelist_count full_column_names fullfsync
 function_list hard_heap_limit ignore_check_constraints incremental_vacuum index_info index_list index_xinfo
 integrity_check journal_mode journal_size_limit legacy_alter_table legacy_file_format locking_mode
 max_page_count mmap_size module_list optimize page_count page_size parser_trace pragma_list query_only
 quick_check read_uncommitted recursive_triggers reverse_unordered_selects secure_delete short_column_names
 shrink_memory soft_heap_limit stats synchronous table_info table_list table_xinfo temp_store
 temp_store_directory threads trusted_schema user_version vdbe_addoptrace vdbe_debug vdbe_listing vdbe_trace
 wal_autocheckpoint wal_checkpoint `

func (*translator) pragma(s *ast.PragmaStmt) tree.Statement {
	name := ident(s.Name.Name)
	if !strings.Contains(strings.ReplaceAll(pragmas, "\n", " "), " "+name+" ") {
		return &tree.Opaque{Why: "PRAGMA " + name + " is not one that is known to change no data"}
	}
	return &tree.Neutral{What: "PRAGMA " + name}
}
