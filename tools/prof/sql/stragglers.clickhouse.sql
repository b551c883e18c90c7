-- stragglers.sql in ClickHouse's words.
SELECT name, count() AS ranks, min(ns) AS least_ns, max(ns) AS most_ns, arraySort(groupArray((-ns, rank)))[1].2 AS slowest
FROM (SELECT name, rank, sum(dur_ns) AS ns FROM events WHERE kind = 'kernel' GROUP BY name, rank)
GROUP BY name ORDER BY most_ns - least_ns DESC, name
