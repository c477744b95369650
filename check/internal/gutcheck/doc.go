// Package gutcheck tries in a real browser whether an application survives a person who sends the same form twice: by a double click,
// a reload, the Back button, a second tab, or after an answer that got lost.
//
// It judges any application by its effects, and without a counter by what was answered. Each way is gone in a [chromium.Profile] of its
// own, with and without scripts. The first answer is held back in the relay once it is whole, so that the next act of the person
// happens while the request is under way, however fast the server is.
package gutcheck
