SELECT number, id, customer, note FROM orders WHERE account = ? AND id = ?;
