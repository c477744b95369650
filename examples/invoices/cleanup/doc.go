// Package cleanup makes a database that the naive application has spoiled for two years, with customers who go on
// ordering while `semel dedupe` merges the duplicates. Its README is the story, and its test runs that.
package cleanup
