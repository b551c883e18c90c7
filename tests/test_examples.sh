#!/bin/sh
# Every example builds, as make examples builds it, and ends as it should: with ALL=1 (tests/run.sh
# --all) those, too, that compile prof.h again.
set -u
cd "$(dirname "$0")/.." || exit 1
out=build/tests/test_examples.dir
failed=0
mkdir -p $out/images

runs() {   # NAME ARGUMENT...
    example=$1
    shift
    if make -s "build/examples/$example" >$out/said 2>&1 &&
        { [ -x "build/examples/$example" ] || { echo "skip example_$example: $(cat $out/said)"; return; }
          (cd $out && timeout 250 "../../examples/$example" "$@" >said 2>&1); }; then
        echo "ok example_$example"
    else
        failed=1
        echo "not ok example_$example: $(tail -n 1 $out/said)"
    fi
}

for example in ${ALL:+hello hello_cpp} threads fibers details execution; do
    runs "$example" "$example.json"
done
runs coroutines coroutines.json
for example in counters observers outside stacks switches; do runs "$example"; done
for example in schedule train; do runs "$example" .; done
runs stream stream.json
runs crash crash.prof
[ -z "${ALL:-}" ] || runs images images
exit $failed
