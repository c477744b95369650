-- semel:safe the row commits with the claim of its key
-- name: CreateInvoice :one
INSERT INTO invoices (customer, cents) VALUES ($1, $2)
RETURNING id, customer, cents;
