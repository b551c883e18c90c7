-- The table of prof report, to the nanosecond: SQLite, DuckDB, ClickHouse, Spark, PostgreSQL.
SELECT name, device_type, is_user_annotation, count(*) AS calls,
       sum(CASE WHEN device_type = 1 THEN 0 ELSE dur_ns END) AS cpu_time_total_ns,
       sum(CASE WHEN device_type = 1 THEN 0 ELSE self_ns END) AS self_cpu_time_total_ns,
       sum(CASE WHEN device_type = 1 THEN dur_ns ELSE device_ns END) AS device_time_total_ns,
       sum(CASE WHEN device_type = 1 THEN dur_ns ELSE device_self_ns END) AS self_device_time_total_ns
FROM (SELECT CASE WHEN name LIKE 'ProfilerStep#%' THEN 'ProfilerStep*' ELSE name END AS name,
             is_device AS device_type,
             CASE WHEN kind IN ('user_annotation', 'gpu_user_annotation') THEN 1 ELSE 0 END
                 AS is_user_annotation,
             dur_ns, self_ns, device_ns, device_self_ns
      FROM events WHERE kind NOT IN ('python_function', 'sync', 'span')) AS calls_of_report
GROUP BY name, device_type, is_user_annotation
