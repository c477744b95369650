// Package opendb opens an application's own database by its DSN, for the verbs
// of the command line that compare rules with it: it is the one switch that
// knows every driver of database/sql.
package opendb
