-- A row that would refer to a merged row refers to the one that has its place. A merge that is under way holds locks of its
-- rows; the lock makes this one wait for it, and keeps the row from being merged until this transaction ends.
-- semel:safe it replaces the function by the same one
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = {path} AS $semel$
#variable_conflict use_column
DECLARE
    semel_row record;
    semel_next record;
    semel_moved boolean := false;
BEGIN
    IF current_setting('semel.merge_run', true) <> '' THEN
        RETURN NEW;
    END IF;
    {skip}
    SELECT {columns} INTO semel_row FROM {parent} AS t WHERE {refers} FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN NEW;
    END IF;
    FOR semel_step IN 1..{most} LOOP
        EXIT WHEN semel_row.semel_into IS NULL;
        SELECT {columns} INTO semel_next FROM {parent} AS t WHERE {next} FOR KEY SHARE;
        EXIT WHEN NOT FOUND;
        semel_row := semel_next;
        semel_moved := true;
    END LOOP;
    IF semel_moved THEN
        {set}
    END IF;
    RETURN NEW;
END
$semel$
