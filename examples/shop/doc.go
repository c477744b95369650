// Package shop is a small, honest shop that uses Semel as a library: pages, a
// form and a JSON API over one SQLite database, in which orders, order lines
// and the records of Semel commit together.
//
//	request ─▶ Faults ─▶ session ─▶ semelhttp ─▶ handler ─▶ orders, lines ┐ one
//	                                    └────────▶ claim, outcome ────────┘ transaction
//
// It has a switch for faults of the network and the server, below
// the handlers: answers that get lost, connections that close, delays. With it
// anyone can see that an order sent twice is one order.
package shop
