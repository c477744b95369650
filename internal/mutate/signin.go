package main

// signIns are about redirects to a sign-in page.
func signIns() []mutant {
	return []mutant{
		removed("a redirect to a sign-in page is not an outcome", 2, "semelhttp/execution.go", "released := releases(status) || signIn", "released := releases(status) || signIn && false",
			"semelhttp", "TestSignInRedirect", "TestTransaction"),
		removed("a redirect to another host's sign-in page is unknown where nothing is repeated on a guess", 3, "semelhttp/execution.go", "elsewhere && on5xx == UnknownOn5xx", "false && elsewhere",
			"semelhttp", "TestSignInRedirectOfAPayment"),
		removed("what follows a sign-up is an outcome, the sign-in page included", 3, "semelhttp/signin.go", "accountPath.MatchString(own) || ", "",
			"semelhttp", "TestSignInVectors"),
		removed("gateway: released_when of a rule", 2, "gateway/proxy.go", "			release(res)\n", "",
			"gateway", "TestReleasedWhen"),
	}
}
