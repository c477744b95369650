package storetest

func modelRules() []Rule   { return nil }
func historyRules() []Rule { return nil }
