// Package storecheck tests which promises a live store keeps: it runs real races in a scratch part of the user's own
// database, and reports which promises held. A promise that did not break is not proven.
package storecheck
