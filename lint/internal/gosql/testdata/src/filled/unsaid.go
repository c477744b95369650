package filled

import "database/sql"

func unsaid(db *sql.DB, n names) {
	db.Exec(n.text("UPDATE {{table}} SET n = 1")) // want `cannot tell: variable-text \(what the statement does depends on n.replacer.Replace\(s\)`
	db.Exec(n.text("UPDATE t SET n = 1"))         // want `cannot tell: variable-text`
	db.Exec(n.text("SELECT 1"))                   // want `unknown: n.replacer.Replace\(s\)`
}
