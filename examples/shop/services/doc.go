// Package services is a shop of three services that pass an order on: orders,
// payment, logistics. It exists twice: naive, and protected by Semel. Points in
// the code let a process die, lose an answer or deliver something three times,
// and what happened in the business is counted.
//
//	app ──▶ orders ──outbox──▶ broker ──inbox──▶ payment ──▶ provider
//	          ▲  │                                              │
//	          │  └──flow──▶ logistics: shipment                 │
//	          │  └──outbox─▶ broker ─inbox─▶ logistics: e-mail  │
//	          └──────────────── callback ◀──────────────────────┘
//
// Both shops make the same changes, calls and messages in the same order: naive.go and
// protect.go are the difference.
package services
