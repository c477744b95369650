-- The guards of a database, and the unique indexes that took their place.
CREATE TABLE IF NOT EXISTS semel_dedupe_guard (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    name text NOT NULL,
    tbl varchar(255) NOT NULL,
    plan longtext NOT NULL,
    triggers int NOT NULL,
    started_at datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    started_by text NOT NULL,
    installed_at datetime(6),
    removed_at datetime(6)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE IF NOT EXISTS semel_dedupe_index (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    tbl varchar(255) NOT NULL,
    name varchar(255) NOT NULL,
    plan longtext NOT NULL,
    started_at datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    started_by text NOT NULL,
    built_at datetime(6),
    dropped_at datetime(6)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
