#!/bin/sh
# The chunk protocol (tests/chunks.pml) in all orders of steps, by spin; and that the model notices
# each mistake that it knows.
set -u
cd "$(dirname "$0")/.." || exit 1
if ! command -v spin >/dev/null; then
    echo 'skip model: spin is not installed'
    exit 0
fi
failed=0

errors() {   # FLAGS...: how many spin finds
    dir=build/tests/model.dir
    rm -rf $dir
    mkdir -p $dir
    (cd $dir && spin -a "$@" ../../../tests/chunks.pml && gcc -O2 -w -DSAFETY -o pan pan.c &&
        ./pan -m100000) 2>&1 | sed -n 's/.*errors: \([0-9]*\).*/\1/p'
}

for flags in -DRING -DSTREAM '-DRING -DEARLY' '-DRING -DNO_USE' '-DRING -DNO_ROW' '-DRING -DNO_STOP' \
    '-DSTREAM -DEARLY' '-DSTREAM -DTAKE'; do
    case $flags in *' '*) want=1 ;; *) want=0 ;; esac
    # shellcheck disable=SC2086
    got=$(errors $flags)
    name=model$(echo "$flags" | tr -d ' ' | sed 's/-D/_/g' | tr '[:upper:]' '[:lower:]')
    if [ "$got" = $want ]; then
        echo "ok $name"
    else
        failed=1
        echo "not ok $name: ${got:-no} errors, not $want"
    fi
done
exit $failed
