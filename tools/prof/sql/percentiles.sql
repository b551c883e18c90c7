-- Durations of one call, the nearest rank as in prof report --percentiles: SQLite, DuckDB, Spark, PostgreSQL. Calls of
-- the same duration are counted first: what is sorted then is far less than the calls.
WITH counted AS (
    SELECT name, is_device, dur_ns, count(*) AS n
    FROM events WHERE kind NOT IN ('python_function', 'sync', 'span', 'user_annotation', 'gpu_user_annotation')
    GROUP BY name, is_device, dur_ns),
numbered AS (
    SELECT name, is_device, dur_ns, sum(n) OVER (PARTITION BY name, is_device ORDER BY dur_ns) AS up_to,
           sum(n) OVER (PARTITION BY name, is_device) AS calls
    FROM counted)
SELECT name, is_device, max(calls) AS calls, min(dur_ns) AS least_ns,
       min(CASE WHEN up_to * 100 >= calls * 50 THEN dur_ns END) AS p50_ns,
       min(CASE WHEN up_to * 100 >= calls * 90 THEN dur_ns END) AS p90_ns,
       min(CASE WHEN up_to * 100 >= calls * 99 THEN dur_ns END) AS p99_ns, max(dur_ns) AS most_ns
FROM numbered GROUP BY name, is_device ORDER BY most_ns DESC, name, is_device
