// Package apps runs real applications of other authors behind the gateway, and holds
// what the tests of its sub-packages share: [Start] runs an
// application, [Protect] puts the gateway in front of it, and a [Person] looks
// at pages and sends forms as a browser does.
//
// Every application is tried two times. Without Semel, what is sent twice is
// done twice: that is asserted, so that the second half proves something. With
// Semel it is done once, and both senders get the first answer. Everything else
// has to stay as it is, which [Compare] looks at page by page.
//
// The rules files are those of examples/rules.
package apps
