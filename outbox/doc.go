// Package outbox publishes messages if and only if a transaction commits.
//
// [Outbox.Add] writes messages into a table in the caller's transaction. A relay leases partitions
// (relay.go, lane.go), reads them once it has committed, gives them to a [Publisher], and deletes
// those that the receiver has acknowledged. A message is therefore published at least once, always
// under the same id, and never when its transaction was rolled back; receivers recognise a
// repetition by the id (package inbox does).
//
//	out, err := outbox.Open(ctx, db, nil)
//	...
//	tx, err := db.BeginTx(ctx, nil)
//	_, err = tx.ExecContext(ctx, "INSERT INTO orders …")
//	err = out.Add(ctx, tx, outbox.Message{Topic: "orders.created", Key: "order-17", Body: body})
//	err = tx.Commit()
//
// PostgreSQL, MySQL, MariaDB and SQLite are supported.
package outbox
