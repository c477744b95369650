package verify

// Code names a kind of finding, for machines. Codes are never renamed.
type Code string

// Codes of findings, in the order in which they are looked for.
const (
	codeMissingTable      Code = "missing_table"
	codeView              Code = "view"
	codeForeignTable      Code = "foreign_table"
	codeOnPartition       Code = "on_partition"
	codeInheritance       Code = "inheritance"
	codeEngine            Code = "engine"
	codeMissingColumn     Code = "missing_column"
	codeNotIndexable      Code = "not_indexable"
	codeMinted            Code = "minted"
	codeWeakColumn        Code = "weak_column"
	codeExternalIDType    Code = "external_id_type"
	codeInexactType       Code = "inexact_type"
	codeNullable          Code = "nullable"
	codeNullsUnsaid       Code = "nulls_unsaid"
	codeMissingIndex      Code = "missing_index"
	codeOnlyPartitions    Code = "only_partitions"
	codeColumnsDiffer     Code = "columns_differ"
	codeWider             Code = "wider"
	codeNarrower          Code = "narrower"
	codeExpressionDiffers Code = "expression_differs"
	codeExpressionUnknown Code = "expression_unknown"
	codeNotUnique         Code = "not_unique"
	codeInvalid           Code = "invalid"
	codePartitionsMissing Code = "partitions_missing"
	codeDeferrable        Code = "deferrable"
	codePredicateMissing  Code = "predicate_missing"
	codePredicateExtra    Code = "predicate_extra"
	codePredicateDiffers  Code = "predicate_differs"
	codePredicateUnknown  Code = "predicate_unknown"
	codeNullsDistinct     Code = "nulls_distinct"
	codeNullsSame         Code = "nulls_same"
	codePrefix            Code = "prefix"
	codeCollationLoose    Code = "collation_loose"
	codeCollationExact    Code = "collation_exact"
	codeUUIDText          Code = "uuid_text"
	codeCannotInfer       Code = "cannot_infer"
	codeIndexName         Code = "index_name"
	codeIgnored           Code = "ignored"
	codeSharedIndex       Code = "shared_index"
	codeRedundant         Code = "redundant_index"
	codeDuplicates        Code = "duplicates"
	codeUnsearched        Code = "unsearched"
	codeSQLConflictTarget Code = "sql_conflict_target"
	codeSQLConflictWhere  Code = "sql_conflict_where"
	codeSQLInsertIgnore   Code = "sql_insert_ignore"
	codeSQLReplace        Code = "sql_replace"
	codeSQLDuplicateKey   Code = "sql_duplicate_key"
)

// About says what a code means.
type About struct {
	Code     Code
	Severity Severity
	// Means is a sentence for people.
	Means string
}

// Codes lists all codes with what they mean.
func Codes() []About {
	return []About{
		{codeMissingTable, Error, "The table of the rule is not there, or not on the search path."},
		{codeView, Error, "The rule names a view, which holds no rows and enforces nothing."},
		{codeForeignTable, Error, "The rule names a foreign table, whose rows this server does not see."},
		{codeOnPartition, Error, "The rule names one partition: other partitions can hold the same again."},
		{codeInheritance, Error, "Tables inherit from the table, and no index of it knows their rows."},
		{codeEngine, Warning, "The storage engine has no transactions: a row that clashed half-way stays."},
		{codeMissingColumn, Error, "A column that the rule names is not there."},
		{codeNotIndexable, Error, "This database cannot index the expression on columns of these types."},
		{codeMinted, Error, "A column of the rule gets a new value from the server for each row, so that two rows are never the same."},
		{codeWeakColumn, Warning, "The only field looks unique and is not: two people or things can have the same. Or the fields say when a row was made, rounded or not."},
		{codeExternalIDType, Warning, "An id of another system is kept as a number: leading zeros and letters get lost, and two become one."},
		{codeInexactType, Warning, "The column holds floating-point numbers, which are equal or not by their last bit."},
		{codeNullable, Error, "The rule forbids NULL in a column that takes it, and rows with NULL never clash."},
		{codeNullsUnsaid, Warning, "A column of the rule takes NULL, rows with NULL never clash, and the rule does not say that this is meant."},
		{codeMissingIndex, Error, "No unique index enforces the rule."},
		{codeOnlyPartitions, Error, "Partitions have unique indexes of their own, the table has none: the same can be in two partitions, or in a new one."},
		{codeColumnsDiffer, Error, "The index that is meant for the rule has other columns."},
		{codeWider, Error, "A unique index lacks a column of the rule, and refuses rows that the rule allows."},
		{codeNarrower, Error, "The unique index has a column more than the rule, and lets the same in twice."},
		{codeExpressionDiffers, Error, "The index is on another expression of the same columns."},
		{codeExpressionUnknown, Warning, "The index is on an expression that cannot be compared with the rule's."},
		{codeNotUnique, Error, "The index is there but not unique."},
		{codeInvalid, Error, "The index is invalid or not ready: a CREATE INDEX CONCURRENTLY failed, or runs."},
		{codePartitionsMissing, Error, "The index of a partitioned table lacks partitions, and is not valid until all are attached."},
		{codeDeferrable, Error, "The constraint is deferrable: it may be checked as late as at COMMIT, and no ON CONFLICT can use it."},
		{codePredicateMissing, Error, "The index counts rows that the rule excepts, such as deleted ones."},
		{codePredicateExtra, Error, "The index leaves out rows that the rule counts."},
		{codePredicateDiffers, Error, "The index counts other rows than the rule."},
		{codePredicateUnknown, Warning, "The predicate of the index cannot be compared with the rule's exceptions."},
		{codeNullsDistinct, Error, "Rows with NULL are the same by the rule and not by the index."},
		{codeNullsSame, Error, "Rows with NULL are the same by the index and not by the rule."},
		{codePrefix, Error, "The index looks at the start of the column only, and refuses values that differ later."},
		{codeCollationLoose, Error, "The collation makes texts equal that differ for the rule."},
		{codeCollationExact, Error, "The rule takes no notice of case, the index does."},
		{codeUUIDText, Warning, "UUIDs are kept as text with a loose collation."},
		{codeCannotInfer, Error, "The rule returns or changes the existing row, and ON CONFLICT cannot find this index."},
		{codeIndexName, Warning, "The index has another name than the rule expects, so that its conflicts are not recognised."},
		{codeIgnored, Warning, "The index is marked as ignored or invisible, as one does before dropping it."},
		{codeSharedIndex, Error, "Two rules are enforced by one index: a conflict cannot tell which was broken."},
		{codeRedundant, Warning, "A second index enforces the same; each write pays for both."},
		{codeDuplicates, Error, "Rows that are there already break the rule."},
		{codeUnsearched, Warning, "Not all rows were searched for duplicates."},
		{codeSQLConflictTarget, Error, "A statement's ON CONFLICT names columns that no unique index has."},
		{codeSQLConflictWhere, Error, "A statement's ON CONFLICT does not repeat the predicate of the partial index, and fails."},
		{codeSQLInsertIgnore, Error, "A statement ignores errors: it also hides truncated values, broken references and NULLs."},
		{codeSQLReplace, Error, "A statement replaces: it deletes the existing row, and what refers to it."},
		{codeSQLDuplicateKey, Error, "ON DUPLICATE KEY UPDATE also fires on another unique key, and changes another row."},
	}
}

// severityOf is the severity of a code.
func severityOf(code Code) Severity {
	for _, about := range Codes() {
		if about.Code == code {
			return about.Severity
		}
	}
	return Error
}
