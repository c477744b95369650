-- A row that would refer to a merged row refers to the one that has its place. A merge that is under way holds locks of its
-- rows; the lock makes this one wait for it, and keeps the row from being merged until this transaction ends.
CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW BEGIN -- {comment}
    DECLARE semel_found, semel_moved boolean DEFAULT false;
    DECLARE semel_steps int DEFAULT 0;
    DECLARE semel_into, semel_next {id};
    {declare}
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET semel_found = false;
    IF coalesce(@semel_merge_run, '') = ''{condition} THEN
        SET semel_found = true;
        SELECT t.{merged} INTO semel_into FROM {parent} AS t WHERE {refers} LOCK IN SHARE MODE;
        WHILE semel_found AND semel_into IS NOT NULL AND semel_steps < {most} DO
            SELECT t.{merged}, {columns} INTO semel_next, {variables} FROM {parent} AS t WHERE {next} LOCK IN SHARE MODE;
            IF semel_found THEN
                SET semel_into = semel_next, semel_moved = true;
            END IF;
            SET semel_steps = semel_steps + 1;
        END WHILE;
        IF semel_moved THEN
            SET {set};
        END IF;
    END IF;
END
