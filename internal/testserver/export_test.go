package testserver

// Require is the check that every server of this package passes.
var Require = require
