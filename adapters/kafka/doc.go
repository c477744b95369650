// Package kafka connects package inbox and package outbox to Apache Kafka, by franz-go. It was tested against kfake, franz-go's broker for tests, and not
// against a real Kafka.
//
// [Consume] gives the records of a consumer group to an inbox and commits offsets by its verdicts:
//
//	partition ──poll──▶ handle ──verdict──▶ Ack, Quarantine: the offset is marked, and committed within CommitInterval
//	    ▲                  │                Retry: the partition waits, and the record is handled again
//	    └── read again ────┘ killed, or the partition was taken away: from the last committed offset
//
// [NewPublisher] makes the publisher of an outbox relay.
//
// Records of a partition are handled in their order, one at a time; partitions go side by side. A record that is poison goes to
// quarantine, and its partition goes on; no offset is committed before the records below it have their verdicts.
//
// # Names of records
//
// A record is named by its header [IDHeader], which a [Publisher] sets, else by its header "id", which other producers set, else by its
// place: TOPIC/PARTITION/OFFSET/TIME, where TIME is its timestamp in milliseconds, so that a topic that was made again names its records anew. The place names the
// record and not the wish: a producer that sends twice makes two records, and an idempotent producer does so when the application
// sends again.
package kafka
