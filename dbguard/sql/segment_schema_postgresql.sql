-- Amounts that are split into segments, for Segments: what there is of a name is
-- the sum over its segments, and none of them is ever below zero.
-- Every change rewrites a row: half of each page is left free, so that it stays
-- HOT.
CREATE TABLE IF NOT EXISTS {{table}} (
    name    text    NOT NULL,
    segment integer NOT NULL,
    amount  bigint  NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (name, segment)
) WITH (fillfactor = 50);
