package storetest

// Rule and TxRule are a rule.
type (
	Rule   = storeRule
	TxRule = txRule
)

// Rules and TxRules return all of them.
func Rules() []Rule     { return storeRules() }
func TxRules() []TxRule { return txRules() }
