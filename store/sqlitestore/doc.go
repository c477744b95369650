// Package sqlitestore keeps records in one SQLite file.
package sqlitestore
