// Package jsonserver tries json-server behind the gateway: the npm package that
// package.json pins, with a page of a form before it.
package jsonserver
