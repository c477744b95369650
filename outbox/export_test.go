package outbox

// PartitionKey is the key of a partition's lease.
var PartitionKey = (*Outbox).partitionKey
