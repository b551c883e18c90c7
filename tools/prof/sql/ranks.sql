-- What each rank's devices did: SQLite, DuckDB, ClickHouse, Spark, PostgreSQL.
SELECT rank, kind, count(*) AS calls, sum(dur_ns) AS total_ns, min(dur_ns) AS least_ns, max(dur_ns) AS most_ns
FROM events WHERE is_device = 1 AND kind <> 'gpu_user_annotation'
GROUP BY rank, kind ORDER BY rank, kind
