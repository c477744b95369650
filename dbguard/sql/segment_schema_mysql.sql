-- Amounts that are split into segments, for Segments: what there is of a name is
-- the sum over its segments, and none of them is ever below zero.
-- The name is binary, because a collation would make one name of two.
CREATE TABLE IF NOT EXISTS {{table}} (
    name    varbinary(255) NOT NULL,
    segment int            NOT NULL,
    amount  bigint         NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (name, segment)
) ENGINE = InnoDB;
