// Package observe stands between a service and what it calls: it counts the
// calls, and makes some of them fail when it is told to.
//
//	checker ──▶ service ──▶ Observer ──▶ the service's dependency
//	                           ├ counts: an effect is a call that went on
//	                           └ FailNext: answered here, not passed on, not counted
//
// The service is started with the Observer's address in the place of its
// dependency's. With no upstream the Observer is the dependency itself, and says
// 201 to everything ([Options].Status).
//
// A call that came is passed on once, over a connection of its own: the standard
// library's transport sends some requests again when a connection that was used
// before is lost.
package observe
