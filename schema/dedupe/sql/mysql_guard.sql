-- Each value that rows have by the rule has a row in a table of the guard, with the number of the rows that have it. A writer
-- counts in its own transaction, so that of two writers of a value the second one waits for the first, whatever their
-- isolation; a second row is refused as the unique index to come refuses it. Rows that are duplicates already are counted like
-- others, and may change in every other way. It fires when the row is there, so that generated columns count, and what BEFORE
-- triggers changed.
-- semel:safe it is made while no trigger of the name is there
CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH ROW BEGIN -- {comment}
    DECLARE semel_count bigint;
    DECLARE semel_text varchar(200) CHARACTER SET utf8mb4;
    {declare}
    {set}
    IF NOT ({unchanged}) THEN
        IF {old} THEN
            INSERT INTO {values} VALUES ({old_values}, -1) ON DUPLICATE KEY UPDATE semel_rows = {values}.semel_rows - 1;
        END IF;
        IF {new} THEN
            INSERT INTO {values} VALUES ({new_values}, 1) ON DUPLICATE KEY UPDATE semel_rows = {values}.semel_rows + 1;
            IF coalesce(@semel_merge_run, '') = '' THEN -- semel dedupe restores rows that are duplicates already
                SELECT v.semel_rows INTO semel_count FROM {values} AS v WHERE {same};
                IF semel_count > 1 THEN
                    SET semel_text = concat('Duplicate entry ''', left(concat_ws('-', {shown}), {most}), ''' for key ''', {index}, '''');
                    SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, MESSAGE_TEXT = semel_text;
                END IF;
            END IF;
        END IF;
    END IF;
END
