package main

// questions go to the upstream (promises 3 and 5).
func questions() []mutant {
	return []mutant{
		removed("rules: a question uses what the key holds alone", 5, "rules/question.go", "case !route.holds(part):", "case false && !route.holds(part):",
			"gateway", "TestQuestionsAreAboutTheReplay", "TestWithdrawnRightOfTheReplay", "TestLostAnswerIsLookedUpAsItWas"),
		removed("semelhttp: a gateway's word is a lost answer", 3, "semelhttp/execution.go",
			"run.tx == nil && on5xx == ReleaseOn5xx && lostAnswer(status)", "false && lostAnswer(status)",
			"semelhttp", "TestStatuses"),
		removed("gateway: an outcome that will be found out says when", 3, "gateway/reconcile.go", ", Again: rest}", "}",
			"gateway", "TestReconcileNotHappened"),
		removed("semelhttp: a name that an application folds is refused", 2, "semelhttp/jsonpointer.go", "case strings.EqualFold(step, path[0]):", "case false && strings.EqualFold(step, path[0]):",
			"semelhttp", "TestLetterCase"),
	}
}
