-- What semel dedupe keeps in the application's database. A state of the map is 0 open, 1 merged, 2 refused, 3 undone; a
-- step of the audit 1 is a row whose references moved, 2 a loser, 3 a winner.
CREATE TABLE IF NOT EXISTS semel_dedupe_run (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    name text NOT NULL,
    tbl varchar(255) NOT NULL,
    plan longtext NOT NULL,
    started_at datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    started_by text NOT NULL,
    finished_at datetime(6),
    undone_at datetime(6)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS semel_dedupe_map (
    run bigint NOT NULL,
    item bigint NOT NULL,
    grp bigint NOT NULL,
    loser longtext NOT NULL,
    winner longtext NOT NULL,
    state smallint NOT NULL DEFAULT 0,
    reason text,
    PRIMARY KEY (run, item),
    KEY semel_dedupe_map_open (run, state, grp),
    KEY semel_dedupe_map_group (run, grp)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS semel_dedupe_audit (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    run bigint NOT NULL,
    grp bigint NOT NULL,
    item bigint NOT NULL,
    step smallint NOT NULL,
    tbl varchar(255) NOT NULL,
    `key` longtext NOT NULL,
    winner longtext,
    whole longtext,
    old longtext,
    new longtext,
    at datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    undone_at datetime(6),
    undone_by text,
    kept longtext,
    KEY semel_dedupe_audit_group (run, grp),
    KEY semel_dedupe_audit_row (tbl, `key`(255))
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
