// Package natsjs connects package inbox and package outbox to NATS JetStream.
//
// [Consume] gives the messages of a pull consumer to an inbox and acknowledges
// them by its verdicts. [NewPublisher] makes the publisher of an outbox relay.
//
//	stream ──fetch──▶ handle ──verdict──▶ Ack, Quarantine: acknowledged
//	   ▲                 │                Retry: negatively acknowledged, with its delay
//	   └── redelivered ──┘ killed, or cut off: after the consumer's AckWait
//
// # Names of messages
//
// JetStream drops a message whose Nats-Msg-Id it has seen within the stream's
// duplicate window, whatever its subject and body are. So the publisher
// writes an id that also depends on the content into Nats-Msg-Id, and the
// message's own ID into [IDHeader]: a repetition is dropped by the stream or
// recognised by the inbox, and another message under the same ID arrives, and is
// quarantined by the inbox instead of lost.
//
// A consumed message is named by its [IDHeader], else by its Nats-Msg-Id, which
// other producers set, else by its place: STREAM:SEQUENCE:TIME, where TIME is
// when the stream stored it, in nanoseconds, so that a stream that was made
// again names its messages anew. The place names the message and not the
// wish: a producer that sends it twice makes two messages.
package natsjs
