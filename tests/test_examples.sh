#!/bin/sh
# Every example builds, and ends as it should: with ALL=1 (tests/run.sh --all) as make examples builds
# it, and those, too, that compile prof.h again; else half of them, others each time (of those for devices
# a fourth), linked with the object of the tests.
# shellcheck disable=SC2086   # lists of flags are meant to split
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/build.sh
. tests/build.sh
out=build/tests/test_examples.dir
failed=0
mkdir -p $out/images

coroutines() {
    if ! echo '#include <coroutine>' | g++ -std=c++20 -x c++ -fsyntax-only - 2>/dev/null; then
        echo 'no compiler with the coroutines of C++20'
        return
    fi
    g++ -std=c++20 -O2 $warn -I. examples/coroutines.cpp "$library" -o "$program" $libs
}

build() {   # sets program
    program=build/examples/$example
    [ -n "${ALL:-}" ] && { flock build/prof.lock make -s WARN="$warn" "$program"; return; }
    program=$out/$example
    library gcc || return
    [ "$example" != coroutines ] || { coroutines; return; }
    # What train measures of its own cost takes long. -O1 warns of what -O0 does not.
    sed 's/COST_ROUNDS = 500/COST_ROUNDS = 9/' "examples/$example.c" >"$program.c"
    $cc -O1 $warn -I. -Iexamples/device "$program.c" "$library" -o "$program" $libs
}

runs() {   # NAME ARGUMENT...
    [ "$1" = crash ] || some 2 || return 0
    example=$1
    shift
    if build >$out/said 2>&1 &&
        { [ -x "$program" ] || { echo "skip example_$example: $(cat $out/said)"; return; }
          (cd $out && timeout 250 "../../../$program" "$@" >said 2>&1); }; then
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
mkdir -p $out/device
runs device/npu npu.json

# Built with OpenCL, and run where a device is (pocl is one on the CPU).
opencl() {   # NAME SOURCE
    library gcc && $cc -O1 $warn -I. "$2" "$library" -o "$out/$1" $libs -lOpenCL >$out/said 2>&1 &&
        (cd $out && POCL_CACHE_DIR=$PWD/pocl timeout 250 "./$1" >said 2>&1)
    case $? in
    0) echo "ok $1" ;;
    3) echo "skip $1: $(cat $out/said)" ;;
    *) failed=1; echo "not ok $1: $(tail -n 9 $out/said)" ;;
    esac
}
if ! some 4; then :
elif printf '#include <CL/cl.h>\n' | gcc -E - >/dev/null 2>&1; then
    opencl example_opencl examples/device/opencl.c
    opencl opencl_times tests/record/opencl_times.c
else
    echo 'skip opencl_times: there is no CL/cl.h (opencl-headers, ocl-icd-opencl-dev, pocl-opencl-icd)'
fi
# The same with Vulkan, where a device has timestamps that are paired with the host's (lavapipe, Mesa's on
# the CPU, has): the trace's times are the sum of Vulkan's own.
vulkan_alike() {
    sed -n "s/^Vulkan's own sum: //p" $out/said >$out/vulkan.sum
    grep '"cat":"kernel"' $out/vulkan.json | sed 's/.*"dur":\([0-9.]*\).*/\1/' |
        awk '{s += $1} END {printf "%.3f us\n", s}' | diff - $out/vulkan.sum >$out/vulkan.diff
}
if ! some 4; then :
elif ! printf '#include <vulkan/vulkan.h>\n' | gcc -E - >/dev/null 2>&1; then
    echo 'skip example_vulkan: there is no vulkan/vulkan.h (libvulkan-dev, mesa-vulkan-drivers)'
elif ! { library gcc && $cc -O1 $warn -I. examples/device/vulkan.c "$library" -o $out/vulkan $libs -lvulkan &&
    timeout 250 $out/vulkan $out/vulkan.json; } >$out/said 2>&1; then
    failed=1
    echo "not ok example_vulkan: $(tail -n 9 $out/said)"
elif grep -q 'no Vulkan with' $out/said; then
    echo "skip example_vulkan: $(cat $out/said)"
elif vulkan_alike; then
    echo 'ok example_vulkan'
else
    failed=1
    echo "not ok example_vulkan: $(cat $out/vulkan.diff)"
fi
for example in schedule train; do runs "$example" .; done
runs stream stream.json
runs crash crash.prof
[ -n "${PROF:-}" ] || the_command >$out/said 2>&1
if "${PROF:-$tests_prof}" decode $out/crash.prof 2>$out/said | grep finished >$out/open &&
    grep -q '"parse"' $out/open && grep -q '"handle_request"' $out/open; then
    echo 'ok example_crash_dump'
else
    failed=1
    echo "not ok example_crash_dump: the zones that were open are not in it: $(tail -n 1 $out/said)"
fi
[ -z "${ALL:-}" ] || runs images images
exit $failed
