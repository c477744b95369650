package protected_test

// lesson is the order in which the difference is explained.
func lesson() []layer {
	return []layer{
		{
			"1. One place says what the same thing is",
			"Rules for people first: what may exist only once, within what, and the message for a second one. The routes say which\nrequests need a key and how long an answer is kept.",
			[]part{
				{file: "semel.yaml", has: "  - name: one_customer_per_email", says: "one of its rules. The application reads the file, and so do `semel rules verify` and `plan`."},
				{file: "sql/schema.sql", has: "-- the bug this example exists to show.", says: "nothing here forbade a second row.", told: true},
				{file: "sql/schema.sql", has: "one_customer_per_email", says: "the index has the last word when every other layer has failed. Invoices have none: two equal ones are legitimate, and only the key of the wish tells them apart."},
				{file: "sql/schema.sql", has: "+CREATE UNIQUE INDEX IF NOT EXISTS one_payment_per_reference", says: "the same for payments, within an invoice."},
				{file: "sql/insert_customer.sql", has: "fails", says: "the statement is the same; the index makes it say no.", told: true},
				{file: "rule.go", has: "explain", says: "the database's refusal becomes a sentence in the language of the caller, and never repeats a value."},
			},
		},
		{
			"2. Every wish has a name",
			"A program sends `Idempotency-Key`. A person's browser sends what the page holds: a token in a hidden field, which needs no\nscript. Its line in the template is\n`<input type=\"hidden\" name=\"_semel\" value=\"{{.}}\">`.",
			[]part{
				{file: "form.go", has: "newFormTokens", says: "the token together with what was typed is the key. A double click, a reload and Back are the same wish; Back, edited, is another one."},
				{file: "form.go", has: "senders", says: "a browser that takes no cookies can send a form as well: the token leads back to the visitor it was made for."},
				{file: "door.go", has: "door", says: "one middleware for forms, one for the API, each with the policy of its route."},
				{file: "door.go", has: "sayReplayed", says: "the recorded redirect goes out again without the cookie that said \"created\", so a sentence says what happened.", told: true},
			},
		},
		{
			"3. Rows, messages and the answer commit together",
			"The middleware begins a transaction, records the intent, lets the handler run in it, adds the answer, and commits. A\ncrash at any instant leaves all of it or nothing, and a retry does the rest.",
			[]part{
				{file: "app.go", has: "sqlitetx.Store", says: "the records lie in the application's own file."},
				{file: "app.go", has: "a.protect(look)", says: "the site gets its doors below; what was opened is closed in the other order.", told: true},
				{file: "app.go", has: "func (a *App) protect", says: "how the layers are put together. (The naive one's Reset is for the demo, which does not need this copy.)"},
				{file: "invoice.go", has: "TxFrom", says: "the rows are written where the answer will be. Nothing is detached from the request any more: what does not commit did not happen."},
				{file: "customer.go", has: "TxFrom", says: "the same, and the index's no is translated."},
			},
		},
		{
			"4. A slow call leaves the transaction",
			"The naive application asks a slow service and then stores. Inside of a transaction it would hold the only writer for as\nlong, and would announce invoices that are rolled back. So the message is a row, like the e-mails, and its sender names\nit by its id.",
			[]part{
				{file: "accounting.go", has: "tellAccountingSQL", says: "nothing waits, and no message leaves too early.", told: true},
				{file: "sql/tell_accounting.sql", has: "", says: "in the same transaction as its row.", told: true},
				{file: "sql/schema.sql", has: "accounting", says: "where the messages wait, and the secret of the forms' tokens, which outlives the process as pages do."},
				{file: "app.go", has: "Latency time.Duration", says: "there is nothing to wait for.", told: true},
			},
		},
		{
			"5. What no key allows",
			"Two people who pay the same invoice have two wishes. The balance is read by the statement that spends it.",
			[]part{
				{file: "sql/insert_payment.sql", has: "Adds a payment", says: "nothing comes between looking and writing."},
				{file: "payment.go", has: "CreatePayment", says: "the bank's reference again gives the first payment back, if it is the same one. Otherwise it would overpay."},
				{file: "payment.go", has: "ErrNoRows", says: "no row is an answer here, not an unknown invoice."},
			},
		},
	}
}
