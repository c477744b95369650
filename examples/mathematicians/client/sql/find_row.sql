SELECT id, kind, state FROM entries WHERE ref = ?1;
