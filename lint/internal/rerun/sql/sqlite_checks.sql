-- The checks are in the texts of the tables.
SELECT '', name, substr(sql, instr(lower(sql), 'check')) FROM sqlite_schema WHERE type = 'table' AND instr(lower(sql), 'check') > 0
