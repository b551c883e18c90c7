-- percentiles.sql in ClickHouse's words. The aggregate counts calls of the same duration, and takes the nearest rank, too.
SELECT name, is_device, calls, least_ns, p[1] AS p50_ns, p[2] AS p90_ns, p[3] AS p99_ns, most_ns
FROM (SELECT name, is_device, count() AS calls, min(dur_ns) AS least_ns, max(dur_ns) AS most_ns,
             quantilesExactWeighted(0.5, 0.9, 0.99)(dur_ns, 1) AS p
      FROM events
      WHERE kind NOT IN ('python_function', 'sync', 'span', 'user_annotation', 'gpu_user_annotation')
      GROUP BY name, is_device)
ORDER BY most_ns DESC, name, is_device
