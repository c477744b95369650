package verify

// Code names a kind of finding, for machines. Codes are never renamed.
type Code string

// Codes of findings, in the order in which they are looked for.
const (
	MissingTable      Code = "missing_table"
	View              Code = "view"
	ForeignTable      Code = "foreign_table"
	OnPartition       Code = "on_partition"
	Inheritance       Code = "inheritance"
	Engine            Code = "engine"
	MissingColumn     Code = "missing_column"
	NotIndexable      Code = "not_indexable"
	Minted            Code = "minted"
	WeakColumn        Code = "weak_column"
	ExternalIDType    Code = "external_id_type"
	InexactType       Code = "inexact_type"
	Nullable          Code = "nullable"
	NullsUnsaid       Code = "nulls_unsaid"
	MissingIndex      Code = "missing_index"
	OnlyPartitions    Code = "only_partitions"
	ColumnsDiffer     Code = "columns_differ"
	Wider             Code = "wider"
	Narrower          Code = "narrower"
	ExpressionDiffers Code = "expression_differs"
	ExpressionUnknown Code = "expression_unknown"
	NotUnique         Code = "not_unique"
	Invalid           Code = "invalid"
	PartitionsMissing Code = "partitions_missing"
	Deferrable        Code = "deferrable"
	PredicateMissing  Code = "predicate_missing"
	PredicateExtra    Code = "predicate_extra"
	PredicateDiffers  Code = "predicate_differs"
	PredicateUnknown  Code = "predicate_unknown"
	NullsDistinct     Code = "nulls_distinct"
	NullsSame         Code = "nulls_same"
	Prefix            Code = "prefix"
	CollationLoose    Code = "collation_loose"
	CollationExact    Code = "collation_exact"
	UUIDText          Code = "uuid_text"
	CannotInfer       Code = "cannot_infer"
	IndexName         Code = "index_name"
	Ignored           Code = "ignored"
	SharedIndex       Code = "shared_index"
	Redundant         Code = "redundant_index"
	Duplicates        Code = "duplicates"
	Unsearched        Code = "unsearched"
	SQLConflictTarget Code = "sql_conflict_target"
	SQLConflictWhere  Code = "sql_conflict_where"
	SQLInsertIgnore   Code = "sql_insert_ignore"
	SQLReplace        Code = "sql_replace"
	SQLDuplicateKey   Code = "sql_duplicate_key"
)

// About says what a code means.
type About struct {
	Code     Code
	Severity Severity
	// Means is a sentence for people who meet the code.
	Means string
}

// Codes lists all codes with what they mean.
func Codes() []About {
	return []About{
		{MissingTable, Error, "The table of the rule is not there, or not on the search path."},
		{View, Error, "The rule names a view, which holds no rows and enforces nothing."},
		{ForeignTable, Error, "The rule names a foreign table, whose rows this server does not see."},
		{OnPartition, Error, "The rule names one partition: other partitions can hold the same again."},
		{Inheritance, Error, "Tables inherit from the table, and no index of it knows their rows."},
		{Engine, Warning, "The storage engine has no transactions: a row that clashed half-way stays."},
		{MissingColumn, Error, "A column that the rule names is not there."},
		{NotIndexable, Error, "This database cannot index the expression on columns of these types."},
		{Minted, Error, "A column of the rule gets a new value from the server for each row, so that two rows are never the same."},
		{WeakColumn, Warning, "The only field looks unique and is not: two people or things can have the same."},
		{ExternalIDType, Warning, "An id of another system is kept as a number: leading zeros and letters get lost, and two become one."},
		{InexactType, Warning, "The column holds floating-point numbers, which are equal or not by their last bit."},
		{Nullable, Error, "The rule forbids NULL in a column that takes it, and rows with NULL never clash."},
		{NullsUnsaid, Warning, "A column of the rule takes NULL, rows with NULL never clash, and the rule does not say that this is meant."},
		{MissingIndex, Error, "No unique index enforces the rule."},
		{OnlyPartitions, Error, "Partitions have unique indexes of their own, the table has none: the same can be in two partitions, or in a new one."},
		{ColumnsDiffer, Error, "The index that is meant for the rule has other columns."},
		{Wider, Error, "A unique index lacks a column of the rule, and refuses rows that the rule allows."},
		{Narrower, Error, "The unique index has a column more than the rule, and lets the same in twice."},
		{ExpressionDiffers, Error, "The index is on another expression of the same columns."},
		{ExpressionUnknown, Warning, "The index is on an expression that cannot be compared with the rule's."},
		{NotUnique, Error, "The index is there but not unique."},
		{Invalid, Error, "The index is invalid or not ready: a CREATE INDEX CONCURRENTLY failed, or runs."},
		{PartitionsMissing, Error, "The index of a partitioned table lacks partitions, and is not valid until all are attached."},
		{Deferrable, Error, "The constraint is deferrable: it may be looked at as late as at COMMIT, and no ON CONFLICT can use it."},
		{PredicateMissing, Error, "The index counts rows that the rule excepts, such as deleted ones."},
		{PredicateExtra, Error, "The index leaves out rows that the rule counts."},
		{PredicateDiffers, Error, "The index counts other rows than the rule."},
		{PredicateUnknown, Warning, "The predicate of the index cannot be compared with the rule's exceptions."},
		{NullsDistinct, Error, "Rows with NULL are the same by the rule and not by the index."},
		{NullsSame, Error, "Rows with NULL are the same by the index and not by the rule."},
		{Prefix, Error, "The index looks at the start of the column only, and refuses values that differ later."},
		{CollationLoose, Error, "The collation makes texts equal that the rule tells apart."},
		{CollationExact, Error, "The rule takes no notice of case, the index does."},
		{UUIDText, Warning, "UUIDs are kept as text with a loose collation."},
		{CannotInfer, Error, "The rule returns or changes the existing row, and ON CONFLICT cannot find this index."},
		{IndexName, Warning, "The index has another name than the rule expects, so that its conflicts are not recognised."},
		{Ignored, Warning, "The index is marked as ignored or invisible, as one does before dropping it."},
		{SharedIndex, Error, "Two rules are enforced by one index: a conflict cannot tell which was broken."},
		{Redundant, Warning, "A second index enforces the same; each write pays for both."},
		{Duplicates, Error, "Rows that are there already break the rule."},
		{Unsearched, Warning, "Not all rows were searched for duplicates."},
		{SQLConflictTarget, Error, "A statement's ON CONFLICT names columns that no unique index has."},
		{SQLConflictWhere, Error, "A statement's ON CONFLICT does not repeat the predicate of the partial index, and fails."},
		{SQLInsertIgnore, Error, "A statement ignores errors: it also hides truncated values, broken references and NULLs."},
		{SQLReplace, Error, "A statement replaces: it deletes the existing row, and what refers to it."},
		{SQLDuplicateKey, Error, "ON DUPLICATE KEY UPDATE also fires on another unique key, and changes another row."},
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
