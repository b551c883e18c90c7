-- NCCL's and RCCL's kernels: a collective ends on all ranks at once, so what a rank's took longer than the shortest
-- of the same collective is what it waited for the others. The n-th call of a name is one collective, as in a job
-- whose ranks do the same. SQLite, DuckDB, Spark, PostgreSQL.
WITH numbered AS (SELECT rank, name, dur_ns, row_number() OVER (PARTITION BY rank, name ORDER BY ts_ns, id) AS n
                  FROM events WHERE kind = 'kernel' AND (name LIKE 'nccl%' OR name LIKE 'rccl%')),
     shortest AS (SELECT name, n, min(dur_ns) AS least_ns FROM numbered GROUP BY name, n)
SELECT rank, numbered.name, count(*) AS calls, sum(dur_ns) AS total_ns, sum(dur_ns - least_ns) AS waited_ns
FROM numbered JOIN shortest ON numbered.name = shortest.name AND numbered.n = shortest.n
GROUP BY rank, numbered.name ORDER BY rank, numbered.name
