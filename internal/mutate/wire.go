package main

// detached bound what goes on when its caller has gone (promise 8).
func detached() []mutant {
	return []mutant{
		removed("what goes on after it was recorded keeps its seat", 8, "claim.go",
			"		c.cancel(cause)\n		core.ended(c)\n	}\n", "		c.cancel(cause)\n	}\n	core.ended(c)\n",
			".", "TestDetachedKeepsItsSeat"),
		removed("an abandoned stream without progress ends", 8, "detach.go", "		return\n	}\n	d.cutOff()\n", "		return\n	}\n",
			".", "TestAbandoned"),
		removed("abandoned streams", 8, "internal/waiting/oldest.go", "if len(o.all) > o.Most {", "if false {",
			".", "TestAbandoned"),
		removed("abandoned streams do not outlive a shutdown", 8, "guard.go", "		c.abandoned.Close()\n", "",
			".", "TestAbandoned"),
		removed("a handler notices that its caller has gone", 8, "semelhttp/detached.go", "AbandonAfter; patience > 0 {", "AbandonAfter; patience < 0 {",
			"semelhttp", "TestDetachedHandler"),
		removed("gateway: a caller is seen to hang up behind what it sent", 8, "gateway/caller.go", "	case gone:\n", "	case gone && w.over:\n",
			"gateway", "TestHungUpBehindAByte"),
	}
}

// wires keep the gateway and its neighbours from reading two requests in one
// (promises 3 and 5).
func wires() []mutant {
	both, informed, connection := []string{"TestBothLengths"}, []string{"TestInformationalAnswers"}, []string{"TestConnectionNames"}
	of := func(what string, promise int, file, old, with string, tests []string) mutant {
		return mutant{"gateway: " + what, promise, "gateway/" + file, old, with, "gateway", tests, ""}
	}
	return []mutant{
		of("a chunked request is the last of its connection", 5, "unhurried.go", "len(r.TransferEncoding) > 0 || ", "", both),
		of("a request of HTTP/1.0 is the last of its connection", 5, "unhurried.go", " || r.ProtoMinor == 0)", ")", both),
		of("Connection: close comes with the final status", 5, "unhurried.go", "if status >= http.StatusOK {", "if status >= http.StatusContinue {", both),
		of("what outer handlers say survives a 1xx", 10, "informed.go", "		maps.Copy(h, a.outer)\n", "", informed),
		of("what outer handlers say does not go out with a 1xx", 10, "informed.go", "				delete(h, name)\n", "", informed),
		of("a body that is here is not asked for", 3, "proxy.go", "				delete(pr.Out.Header, \"Expect\")", "				_ = here", []string{"TestExpectation"}),
		of("what Connection names is dropped first", 5, "hopbyhop.go", "			if !ofConnection(name) {", "			if false {", connection),
		of("Connection names nothing that is judged", 5, "hopbyhop.go", "			if g.judges(dashed(name)) {", "			if false {", connection),
		of("an underscore counts as a dash", 5, "hopbyhop.go", "		case g.judges(folded), ofConnection(folded):", "		case false:", []string{"TestUnderscores"}),
		of("an override with underscores counts", 5, "reading.go", "slices.Contains(overrides(), dashed(name))", "slices.Contains(overrides(), name)", []string{"TestUnderscores"}),
		of("a line feed ends a path", 5, "reading.go", "func(p string) string { return before(p, \"\\n\") },", "", []string{"TestReadings"}),
	}
}
