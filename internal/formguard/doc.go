// Package formguard names the intents of HTML forms: it makes and checks the
// tokens that a page carries in a hidden field, and finds and removes that
// field in what the browser sends.
//
// # Tokens
//
// A token says: this gateway handed out this draft of a form, at this time, for
// this route, to this reader. It is text of 54 characters:
//
//	sm1. base64url( id 16 bytes | issued 5 bytes | mac 16 bytes )
//
// The id is random; its first 8 bytes are alike in all tokens of a page that was
// made for a guest, and lead back to it ([Minter.NewGuest]). issued is the Unix time in seconds, big-endian, and mac the
// first 16 bytes of HMAC-SHA-256, under the secret, over
//
//	"sm1." | id | issued | len(route) | route | len(who) | who
//
// where each length takes 8 bytes, big-endian. There is one spelling of a
// token: no padding, no white space, zero bits at the end.
//
// # Bodies
//
// A form arrives as application/x-www-form-urlencoded, multipart/form-data or
// text/plain. [Scan] reads one and returns its tokens and the digest of what
// else is in it; [Strip] passes it on without the token fields. Both look at the
// body through the same splitter, in constant memory, so that they agree.
//
// A field is a token field if its name is the configured one and its value
// begins with "sm1." and is at most [MaxTokenField] bytes long. Whatever else has
// that name belongs to the application.
//
// Readers of forms disagree, about multipart most of all. Two rules keep that
// harmless. What is removed is found generously: any spelling that some reader
// takes for the field's name, at any place that some reader takes for the
// beginning of a part. What counts is taken strictly: the digest covers every
// byte that the application gets, except for fields that the caller ignores and
// for the multipart boundary, and these two only where they are written in the
// one way that browsers write them, about which no readers disagree.
package formguard
