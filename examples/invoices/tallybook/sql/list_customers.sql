-- Lists customers by name, at most as many as asked for.
SELECT id, name, email FROM customers ORDER BY name, id LIMIT ?;
