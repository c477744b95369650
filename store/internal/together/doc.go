// Package together lets calls of one process share transactions. Those that wait
// while the lanes are busy go into one transaction, and whatever keeps that from being
// committed undoes it for all: then each goes alone, as [ErrAlone] says. A text
// that failed, waited or ran long goes alone for a while.
//
//	Join ─▶ queue ─▶ Next: up to Most members ─▶ the store's transaction ─▶ Answer
//	  └─ ErrAlone: no room, or undone                                        │ of calls with a function:
//	                                                                         └─▶ Commit or Refuse ─▶ Collect ─▶ End
//
// A store says by [Queue.Transact] what a shared transaction is.
package together
