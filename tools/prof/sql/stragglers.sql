-- Each kernel over the ranks: which rank spends most on it, and how much more than the one that spends least.
-- SQLite, DuckDB, Spark, PostgreSQL.
WITH totals AS (SELECT name, rank, sum(dur_ns) AS ns FROM events WHERE kind = 'kernel' GROUP BY name, rank),
     spread AS (SELECT name, count(*) AS ranks, min(ns) AS least_ns, max(ns) AS most_ns FROM totals GROUP BY name)
SELECT spread.name, ranks, least_ns, most_ns,
       (SELECT min(rank) FROM totals WHERE totals.name = spread.name AND ns = most_ns) AS slowest
FROM spread ORDER BY most_ns - least_ns DESC, spread.name
