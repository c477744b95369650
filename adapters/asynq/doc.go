// Package semelasynq makes tasks of Asynq happen once.
//
// Asynq delivers a task at least once: a worker whose lease ran out, or that is killed, is followed by another one. Its unique lock
// is freed by the first success, or by time while a handler runs; a task id says "conflict", whatever the other payload is, and is
// forgotten with the task. [Tasks.Middleware] claims a task before its handler runs, keeps the claim with a heartbeat, and remembers
// the task for longer:
//
//	it was done before                                       success
//	another attempt runs, the store does not answer          retried: see [RetryDelay] and [IsFailure]
//	it may have happened, the id was used for other work     archived, with the reason
//
// An archived task whose record an operator resolved as not happened runs after Inspector.RunTask.
package semelasynq
