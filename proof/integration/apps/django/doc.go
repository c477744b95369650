// Package django tries Django's admin behind the gateway: Debian's Django, its
// own server, and a site of one model in testdata.
package django
