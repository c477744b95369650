package check

import "slices"

// The answers to repetitions.
const (
	repeatSame     = "same"     // the first answer again (idempotent mode)
	repeatRefused  = "refused"  // an answer that says it is a duplicate (dedup mode)
	repeatAccepted = "accepted" // any 2xx: the sender only needs to know that it arrived
)

// Profile describes how a kind of service should behave. Vendors differ on purpose.
type Profile struct {
	Name string
	Says string // one sentence
	Key  KeyPlace
	// Repeat is the answer to a repetition: "same", the first answer again (idempotent mode); "refused", an answer that
	// says it is a duplicate (dedup mode); or "accepted", any 2xx, since the sender only needs to know that it arrived.
	Repeat string
	// Mismatch lists the statuses for a known key with another request; empty if any refusal will do.
	Mismatch []int
	// MismatchNew means that another request under a known key is an intent of its own, as with forms whose page was
	// edited and sent again.
	MismatchNew bool
	// MismatchIgnored means that only the key counts: payloads are not compared.
	MismatchIgnored bool
	// Missing are the statuses for a request without a key, where one is required.
	Missing []int
	// InFlight lists the statuses for a repetition while the first one runs; waiting for its answer is always allowed.
	InFlight []int
	// Refused are the statuses of a refused duplicate, with repeatRefused.
	Refused []int
	// Browser says that the request is a form of a page, sent by a browser.
	Browser bool
	// Webhook says that requests are signed deliveries (Standard Webhooks).
	Webhook bool
}

// Profiles lists the known profiles, the default first.
func Profiles() []Profile {
	header := KeyPlace{In: keyInHeader, Name: "Idempotency-Key"}
	return []Profile{
		{
			Name: "ietf", Says: "The Idempotency-Key header as defined by the IETF draft.",
			Key: KeyPlace{In: keyInHeader, Name: header.Name, Quoted: true}, Repeat: repeatSame,
			Mismatch: []int{422}, Missing: []int{400}, InFlight: []int{409},
		},
		{
			Name: "stripe", Says: "The header as used by payment services: raw keys, 400 for another payload, errors are replayed too.",
			Key: header, Repeat: repeatSame,
			Mismatch: []int{400, 409, 422}, Missing: []int{400}, InFlight: []int{409, 429},
		},
		{
			Name: "form", Says: "A page's form, submitted by a browser that sends no key.",
			Key: KeyPlace{In: keyNowhere}, Repeat: repeatSame, MismatchNew: true, Browser: true,
			InFlight: []int{409},
		},
		{
			Name: "webhook", Says: "Signed deliveries of Standard Webhooks; the webhook-id is the key.",
			Key: KeyPlace{In: keyInHeader, Name: "webhook-id"}, Repeat: repeatAccepted, MismatchIgnored: true,
			InFlight: []int{409, 425, 429, 503}, Webhook: true,
		},
		{
			Name: "dedup", Says: "A duplicate is only stopped, and answered as a duplicate.",
			Key: KeyPlace{In: keyInHeader, Name: header.Name, Quoted: true}, Repeat: repeatRefused,
			Refused: []int{409}, Missing: []int{400}, InFlight: []int{409}, MismatchIgnored: true,
		},
		{
			Name: "resource", Says: "The client chooses the id of the resource that it creates, and sends it as part of the request.",
			Key: KeyPlace{In: keyInTemplate}, Repeat: repeatSame,
			Mismatch: []int{409, 412, 422}, InFlight: []int{409},
		},
	}
}

// ProfileNamed finds a profile.
func ProfileNamed(name string) (Profile, bool) {
	all := Profiles()
	at := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if at < 0 {
		return Profile{}, false
	}
	return all[at], true
}
