-- Amounts that are split into segments, for Segments: what there is of a name is
-- the sum over its segments, and none of them is ever below zero.
CREATE TABLE IF NOT EXISTS {{table}} (
    name    TEXT    NOT NULL,
    segment INTEGER NOT NULL,
    amount  INTEGER NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (name, segment)
) WITHOUT ROWID;
