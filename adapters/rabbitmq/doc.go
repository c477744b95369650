// Package rabbitmq connects package inbox and package outbox to RabbitMQ, by
// AMQP 0-9-1.
//
// [Consume] gives the messages of a queue to an inbox and acknowledges them by
// its verdicts. [NewPublisher] makes the publisher of an outbox relay.
//
//	queue ──delivered──▶ handle ──verdict──▶ Ack, Quarantine: acknowledged
//	  ▲                    ▲  └─────────────▶ Retry: held back here, and handled again
//	  │                    └── after its delay ──┘
//	  └── redelivered: the process was killed, or cut off, or held the message back for long
//
// RabbitMQ cannot delay a message that is given back, and a quorum queue counts
// every return against x-delivery-limit, after which it drops the message. So a
// message that is to be retried waits in the process, and goes back only after
// ConsumeOptions.HoldBack. Leave x-delivery-limit out (RabbitMQ 4 sets one
// by default), because the broker counts deliveries that no handler saw; the inbox
// counts attempts and quarantines poison.
//
// # Topics
//
// A topic is EXCHANGE/ROUTING KEY, divided at the first slash. Without a
// slash it is a routing key of the default exchange: the name of a queue.
// Consumed messages have their subject in the same form.
package rabbitmq
