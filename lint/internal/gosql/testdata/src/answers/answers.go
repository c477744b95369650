// Package answers has findings that comments answer.
package answers

import "database/sql"

func calls(db *sql.DB) {
	//semel:safe the caller holds a claim
	db.Exec("UPDATE t SET n = n + 1") // want `not safe: relative-value .* answered: the caller holds a claim`
	db.Exec("UPDATE t SET n = n + 1") //semel:safe a test // want `not safe: relative-value .* answered: a test`
	//semel:safe
	db.Exec("UPDATE t SET n = n + 1") // want `not safe: answer-without-reason`
	//semel:safe it is
	db.Exec("UPDATE t SET n = 1")                               // want `safe: answer-not-needed`
	db.Exec(`UPDATE t SET n = n + 1 -- semel:safe in the text`) // want `answered: in the text`
	println()                                                   //semel:safe nothing is here
}
