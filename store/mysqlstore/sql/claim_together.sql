-- claim.sql and claimed.sql in one round trip, where the pool may send two
-- statements at once.
{{claim}}; SELECT fence, claimed_ms FROM {{record}} WHERE fence = LAST_INSERT_ID()
