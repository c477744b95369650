package testserver

// Require is what every server of this package goes through.
var Require = require
