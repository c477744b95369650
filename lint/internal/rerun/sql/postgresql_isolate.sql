-- Takes from a copy what reaches beyond it, and its rows, and gives the rest to the role semel.role, if it is not
-- empty.
-- semel:safe a second run finds nothing more to take away
DO $semel$
DECLARE
    role text := current_setting('semel.role', true);
    one record;
    all_tables text;
BEGIN
    FOR one IN SELECT srvname FROM pg_catalog.pg_foreign_server LOOP
        EXECUTE format('DROP SERVER %I CASCADE', one.srvname);
    END LOOP;
    FOR one IN SELECT extname FROM pg_catalog.pg_extension
        WHERE extname IN ('dblink', 'postgres_fdw', 'mysql_fdw', 'file_fdw', 'adminpack', 'http', 'pg_net', 'pg_cron', 'lo', 'plsh', 'aws_s3', 'aws_lambda', 'pgsql_http')
           OR extname IN (SELECT lanname FROM pg_catalog.pg_language WHERE NOT lanpltrusted) LOOP
        EXECUTE format('DROP EXTENSION %I CASCADE', one.extname);
    END LOOP;
    FOR one IN SELECT lanname FROM pg_catalog.pg_language WHERE NOT lanpltrusted AND lanname NOT IN ('internal', 'c') LOOP
        EXECUTE format('DROP LANGUAGE %I CASCADE', one.lanname);
    END LOOP;
    FOR one IN SELECT evtname FROM pg_catalog.pg_event_trigger LOOP
        EXECUTE format('DROP EVENT TRIGGER %I', one.evtname);
    END LOOP;
    SELECT string_agg(c.oid::regclass::text, ', ') INTO all_tables
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_';
    IF all_tables IS NOT NULL THEN
        EXECUTE 'TRUNCATE ' || all_tables || ' RESTART IDENTITY CASCADE';
    END IF;
    IF coalesce(role, '') = '' THEN
        RETURN;
    END IF;
    FOR one IN SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_' LOOP
        EXECUTE format('ALTER SCHEMA %I OWNER TO %I', one.nspname, role);
    END LOOP;
    FOR one IN SELECT c.oid::regclass AS name, CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_'
          AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND (d.deptype = 'e' OR c.relkind = 'S' AND d.deptype IN ('a', 'i')))
        ORDER BY c.relkind LOOP
        EXECUTE format('ALTER %s %s OWNER TO %I', one.kind, one.name, role);
    END LOOP;
    FOR one IN SELECT p.oid::regprocedure AS name, p.prosecdef, p.prokind
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
          AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') LOOP
        EXECUTE format('ALTER ROUTINE %s OWNER TO %I', one.name, role);
        IF one.prosecdef THEN
            EXECUTE format('ALTER ROUTINE %s SECURITY INVOKER', one.name);
        END IF;
    END LOOP;
    FOR one IN SELECT t.oid::regtype AS name, t.typtype
        FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
        WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND t.typtype IN ('e', 'd')
          AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e') LOOP
        EXECUTE format('ALTER TYPE %s OWNER TO %I', one.name, role);
    END LOOP;
END $semel$
