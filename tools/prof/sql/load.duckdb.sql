-- prof export -o run.parquet/ rank*.json.gz, then duckdb in the folder that run.parquet is in.
CREATE VIEW events AS SELECT * FROM read_parquet('run.parquet/*/events.parquet', hive_partitioning = false);
CREATE VIEW flows AS SELECT * FROM read_parquet('run.parquet/*/flows.parquet', hive_partitioning = false);
CREATE VIEW memory AS SELECT * FROM read_parquet('run.parquet/*/memory.parquet', hive_partitioning = false);
