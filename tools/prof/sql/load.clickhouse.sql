-- On each server of the cluster `ranks`; then, with CSV's header for the order of columns,
--   zcat run.csv.gz/rank=0/events.csv.gz | clickhouse-client --query "INSERT INTO events_local FORMAT CSVWithNames"
CREATE TABLE events_local (
    rank Int32, id Int64, parent_id Nullable(Int64), name String, cat Nullable(String), kind String, is_device Int32,
    is_async Int32, pid Nullable(Int64), tid Nullable(Int64), process Nullable(String), thread Nullable(String),
    ts_ns Int64, dur_ns Int64, self_ns Nullable(Int64), device_ns Nullable(Int64), device_self_ns Nullable(Int64),
    depth Nullable(Int32), step Nullable(Int64), device Nullable(Int32), stream Nullable(Int64),
    correlation Nullable(Int64), external_id Nullable(Int64), op_id Nullable(Int64), op Nullable(String),
    input_shapes Nullable(String), args Nullable(String)
) ENGINE = MergeTree ORDER BY (rank, ts_ns);
CREATE TABLE events AS events_local ENGINE = Distributed(ranks, default, events_local, rank);
