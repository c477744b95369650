-- Records an id that a client made itself; nothing happens if it is there.
INSERT INTO handouts (unique_id, kind) VALUES (?1, ?2) ON CONFLICT (unique_id) DO NOTHING;
