-- percentiles.sql in ClickHouse's words.
SELECT name, is_device, length(sorted) AS calls, sorted[1] AS least_ns, sorted[toUInt32(ceil(calls * 50 / 100))] AS p50_ns,
       sorted[toUInt32(ceil(calls * 90 / 100))] AS p90_ns, sorted[toUInt32(ceil(calls * 99 / 100))] AS p99_ns,
       sorted[calls] AS most_ns
FROM (SELECT name, is_device, arraySort(groupArray(dur_ns)) AS sorted FROM events
      WHERE kind NOT IN ('python_function', 'sync', 'span', 'user_annotation', 'gpu_user_annotation')
      GROUP BY name, is_device)
ORDER BY most_ns DESC, name, is_device
