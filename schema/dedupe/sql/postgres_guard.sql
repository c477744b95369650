-- A row that would be the same as another one by the rule is refused, as the unique index to come refuses it. It is looked
-- for when the row is there, so that generated columns and what other triggers changed count, and under a lock of its key,
-- so that of two transactions the second one waits for the first, and then sees its row. A transaction with many rows locks
-- the rule as a whole: the server has room for so many locks only.
-- semel:safe it replaces the function by the same one
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = {path} AS $semel$
#variable_conflict use_column
DECLARE
    semel_new record;
    semel_rows integer;
    semel_same boolean;
BEGIN
    IF current_setting('semel.merge_run', true) <> '' THEN -- semel dedupe marks and restores rows that are duplicates already
        RETURN NULL;
    END IF;
    SELECT {terms}, {hash} AS semel_hash INTO semel_new FROM (SELECT (NEW).*) AS {alias}{where};
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        PERFORM FROM (SELECT {terms} FROM (SELECT (OLD).*) AS {alias}{where}) AS semel_old WHERE {unchanged};
        IF FOUND THEN -- a duplicate that is there already may change in other ways
            RETURN NULL;
        END IF;
    END IF;
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE feature_not_supported USING
            MESSAGE = format('the guard against duplicates by %s does not see the rows of other transactions under %s', {name}, upper(current_setting('transaction_isolation'))),
            HINT = 'Write to this table under READ COMMITTED until semel dedupe finish has made the unique index.';
    END IF;
    semel_rows := coalesce(nullif(current_setting('semel.guard_rows', true), ''), '0')::integer + 1;
    IF semel_rows > {most} THEN
        PERFORM pg_advisory_xact_lock({rule});
    ELSE
        PERFORM set_config('semel.guard_rows', semel_rows::text, true);
        PERFORM pg_advisory_xact_lock_shared({rule});
        PERFORM pg_advisory_xact_lock(semel_new.semel_hash);
    END IF;
    {search}
    IF semel_same THEN
        RAISE unique_violation USING
            MESSAGE = format('duplicate key value violates unique constraint "%s"', {index}),
            DETAIL = format('Key (%s)=(%s) already exists.', {key}, concat_ws(', ', {values})),
            HINT = 'The guard of semel dedupe takes the place of the unique index until that can be made.',
            SCHEMA = {schema}, TABLE = {table}, CONSTRAINT = {index};
    END IF;
    RETURN NULL;
END
$semel$
