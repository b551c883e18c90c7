-- collectives.sql in ClickHouse's words.
SELECT rank, name, count() AS calls, sum(took) AS total_ns, sum(took - least) AS waited_ns
FROM (SELECT rank, name, took, n FROM
          (SELECT rank, name, arrayMap(p -> p.2, arraySort(groupArray((ts_ns, dur_ns)))) AS durations FROM events
           WHERE kind = 'kernel' AND (name LIKE 'nccl%' OR name LIKE 'rccl%') GROUP BY rank, name)
      ARRAY JOIN durations AS took, arrayEnumerate(durations) AS n)
ALL INNER JOIN
     (SELECT name, n, min(took) AS least FROM
          (SELECT rank, name, arrayMap(p -> p.2, arraySort(groupArray((ts_ns, dur_ns)))) AS durations FROM events
           WHERE kind = 'kernel' AND (name LIKE 'nccl%' OR name LIKE 'rccl%') GROUP BY rank, name)
      ARRAY JOIN durations AS took, arrayEnumerate(durations) AS n GROUP BY name, n) USING (name, n)
GROUP BY rank, name ORDER BY rank, name
