SELECT
    count(*) FILTER (WHERE state = 'waiting'),
    count(*) FILTER (WHERE state = 'done'),
    count(*) FILTER (WHERE state = 'refused')
FROM entries;
