INSERT INTO stock (unique_id, kind) VALUES (?1, ?2) ON CONFLICT (unique_id) DO NOTHING;
