-- prof export -o run.csv/ rank*.json.gz, then duckdb in the folder that run.csv is in. Types are told: DuckDB takes a
-- column without a value for text.
CREATE VIEW events AS SELECT * FROM read_csv('run.csv/*/events.csv', hive_partitioning = false, types = {
    rank: 'BIGINT', id: 'BIGINT', parent_id: 'BIGINT', is_device: 'BIGINT', is_async: 'BIGINT',
    pid: 'BIGINT', tid: 'BIGINT', ts_ns: 'BIGINT', dur_ns: 'BIGINT', self_ns: 'BIGINT',
    device_ns: 'BIGINT', device_self_ns: 'BIGINT', depth: 'BIGINT', step: 'BIGINT',
    device: 'BIGINT', stream: 'BIGINT', correlation: 'BIGINT', external_id: 'BIGINT',
    op_id: 'BIGINT'});
CREATE VIEW flows AS SELECT * FROM read_csv('run.csv/*/flows.csv', hive_partitioning = false, types = {
    rank: 'BIGINT', id: 'BIGINT', from_id: 'BIGINT', to_id: 'BIGINT', from_ts_ns: 'BIGINT',
    to_ts_ns: 'BIGINT'});
CREATE VIEW memory AS SELECT * FROM read_csv('run.csv/*/memory.csv', hive_partitioning = false, types = {
    rank: 'BIGINT', ts_ns: 'BIGINT', pid: 'BIGINT', tid: 'BIGINT', device_type: 'BIGINT',
    device: 'BIGINT', addr: 'BIGINT', bytes: 'BIGINT', total_allocated: 'BIGINT',
    total_reserved: 'BIGINT'});
