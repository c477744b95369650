// Package sqlite translates statements of SQLite for the linter.
//
// Names are folded as SQLite compares them: the letters of ASCII in lower case, quoted or not.
// What only guides the planner is left out: INDEXED BY, MATERIALIZED, NULLS FIRST, and the
// order of the columns of an index.
//
// What the reader of a tree has to know of SQLite:
//
//   - "x" in double quotes is a string if no column has that name. It is translated as a column.
//   - rowid, _rowid_ and oid name the row id unless a column has that name. An INTEGER PRIMARY KEY is
//     the row id under a further name: [tree.Table.RowID].
//   - LIKE ignores the case of ASCII letters unless a pragma says otherwise.
//   - min and max are aggregates with one argument, and functions of a row with more.
//   - The types of columns convert what is stored: a TEXT column keeps 5 as '5'.
package sqlite
