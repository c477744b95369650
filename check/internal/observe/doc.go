// Package observe provides a proxy between a service and its dependency that counts the calls, and makes some of them fail
// on demand.
//
//	checker ──▶ service ──▶ Observer ──▶ the service's dependency
//	                           ├ counts: an effect is a forwarded call
//	                           └ FailNext: answered here, not passed on, not counted
//
// The service is started with the Observer's address instead of its dependency's. Without an upstream the Observer is the
// dependency itself, and answers 201 to everything that may have an effect.
//
// Each call is forwarded once, over a connection of its own: the standard library's transport resends some requests when a
// reused connection is lost.
package observe
