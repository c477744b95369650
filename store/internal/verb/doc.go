// Package verb holds what every store does alike around its SQL or Lua: it
// counts the verbs that are running ([Gate]), refuses parameters that cannot be stored ([Settlement], [Lease]),
// turns rows into records ([Row], [Won]), reads numbered migrations ([Scripts])
// and asks the transition table what a record means for a claim or a settlement
// ([Claim], [Settle]). No store decides that itself.
package verb
