#!/bin/sh
# What the other tests of the prof command leave out, on every trace there is: pages, tables as CSV,
# findings and merged traces are well-formed, and hold what the trace does.
# shellcheck disable=SC2317   # functions that try calls
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

# One process for all, for it takes longer to start python3 than to check: a line for each trace.
cat >"$out/check.py" <<'END'
import collections, csv, json, re, sys

out = sys.argv[1]
page = open(f"{out}/page.html", encoding="utf-8").read()
data = json.loads(re.search(r'id="data">\n(.*?)</script>', page, re.S).group(1))
rows = json.load(open(f"{out}/rows.json"))
assert len(data["rows"]) == len(rows), f"{len(data['rows'])} rows in the page, {len(rows)} in JSON"
assert len(list(csv.reader(open(f"{out}/rows.csv", encoding="utf-8")))) == len(rows) + 1, "csv"
findings = json.load(open(f"{out}/findings.json"))
assert all(row["Rule"] and row["Byte"] >= 0 for row in findings), "a finding without a place"
memory = open(f"{out}/memory.html", encoding="utf-8").read()
assert memory.rstrip().endswith("</html>") and memory.count("<script") == memory.count("</script>")

def sums(name):
    found = collections.Counter()
    for row in json.load(open(f"{out}/{name}")):
        found[row["key"], row["device_type"] > 0] += row["count"]
    return found

twice = {key: 2 * count for key, count in sums("rows.json").items()}
assert sums("merged_rows.json") == twice, "the merged trace is not twice this one"
END

works_on() {   # TRACE
    "$prof" report -n all -f json -o "$out/rows.json" "$1" &&
        "$prof" report -n all -f csv -o "$out/rows.csv" "$1" &&
        "$prof" report -n all -f html -o "$out/page.html" "$1" &&
        "$prof" memory -f html -o "$out/memory.html" "$1" || return
    "$prof" validate -f json -o "$out/findings.json" "$1"
    [ $? -lt 2 ] || return
    "$prof" merge -o "$out/merged.json.gz" "$1" "$1" &&
        "$prof" report -n all -f json -o "$out/merged_rows.json" "$out/merged.json.gz" || return
    python3 "$out/check.py" "$out"
}

for file in tests/command/traces/kineto_*.json tests/command/traces/legacy_array.json $(real_traces); do
    label=$(basename "$file" .gz)
    case $label in memory_timeline* | *_et.json | *_et_*) continue ;; esac
    try "all_${label%%.*}" works_on "$file"
done
[ -n "$(real_traces)" ] || echo 'skip all_real: ../shared/traces is not there'
exit $failed
