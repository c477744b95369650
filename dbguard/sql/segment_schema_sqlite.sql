-- Amounts that are split into segments, for Segments: what there is of a name is
-- the sum over its segments, and none of them is ever below zero.
-- A sum that is too great is refused; it would become a number with a fraction.
CREATE TABLE IF NOT EXISTS {{table}} (
    name    TEXT    NOT NULL,
    segment INTEGER NOT NULL,
    amount  INTEGER NOT NULL CHECK (amount >= 0 AND typeof(amount) = 'integer'),
    PRIMARY KEY (name, segment)
) WITHOUT ROWID;
