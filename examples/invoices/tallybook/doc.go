// Package tallybook holds what the naive and the protected invoicing application
// have in common: the words, the checks, the pages and the JSON API. It stores
// nothing on its own. What a create does, and who may send it twice, is up to
// the application: see [Creates] and [Doors].
package tallybook
