#!/bin/sh
# Sets a figure in build/trust.json: tests/trust.sh KEY NUMBER [KEY NUMBER...]
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p build/trust
exec 9>build/trust/.lock
flock 9
while [ $# -ge 2 ]; do
    echo "$2" >"build/trust/$1"
    shift 2
done
for file in build/trust/*; do
    printf '  "%s": %s\n' "${file##*/}" "$(cat "$file")"
done | sed '$!s/$/,/; 1i {
$a }' >build/trust.json
