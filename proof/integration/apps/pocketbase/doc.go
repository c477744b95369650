// Package pocketbase tries PocketBase behind the gateway.
//
// It is a module of its own, so that users of Semel do not download
// PocketBase. That is built as its authors build it: as the program that their
// own releases are made of, a tool of this module.
package pocketbase
