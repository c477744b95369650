// Package semeltemporal makes activities of Temporal happen once, and starts a workflow once for a key.
//
// Temporal runs an activity at least once. An attempt that is slower than StartToCloseTimeout is followed by another one while it goes on, and
// one whose worker died is followed by another one, whether it had taken effect or not. [Activities] is a worker interceptor that lets one attempt run:
//
//	another attempt                                        Temporal gets
//	it was done before                                     the recorded result
//	the first one runs                                     its result, after a wait; else SemelInFlight: again when the lease ends
//	the store does not answer                              SemelUnavailable: again
//	it may have happened                                   SemelUnknown: no retry, or again until a verdict (Options.AskAgain)
//	the key was used for other arguments, was cancelled    SemelMismatch, SemelCancelled: no retry
//	it happened, and its result was not kept               SemelNotKept: no retry
//
// The words are types of a temporal.ApplicationError. [Starter.StartOnce] is the other end: a request that is repeated gets the workflow that the
// first one started, and one with other arguments an error.
package semeltemporal
