-- What is held back: the first message of each hold.
SELECT m.id, m.topic, m.message_key, h.state, h.attempts,
  (SELECT COUNT(*) FROM {{table}} b WHERE b.part = -h.hold) - 1,
  {{bytes}}(m.body), m.added_ms, h.since_ms, h.next_ms, h.error, h.operator, h.reason
FROM {{hold}} h
JOIN {{table}} m ON m.part = -h.hold AND m.seq = (SELECT MIN(x.seq) FROM {{table}} x WHERE x.part = -h.hold)
ORDER BY h.since_ms, h.hold
