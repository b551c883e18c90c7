#!/bin/sh
# What prof_cuda.h does on a machine with a GPU: runs every experiment of tools/dev/cuda_acceptance.cu
# in a process of its own and prints their figures; where PyTorch is installed, the same kernels
# under torch.profiler beside ours; where ncu is, its durations. It ends in "N passed, M failed", and
# build/acceptance/table.md has all figures as Markdown. Exit status: 0 all passed, 1 some did not,
# 3 there is no GPU. --fake: on the tests' stand-in for CUPTI and the driver, without nvcc.
#   tools/dev/cuda_acceptance.sh [--fake] [NAME...]
# shellcheck disable=SC2086   # lists are meant to split
set -u
cd "$(dirname "$0")/../.." || exit 2

out=${ACCEPTANCE_OUT:-build/acceptance}
mkdir -p $out
fake=
if [ "${1:-}" = --fake ]; then
    fake=1
    shift
    program=$out/cuda_acceptance
    sources='prof.h prof_cuda.h tools/dev/cuda_acceptance.cu tests/cuda'
    if [ ! -x $program ] || [ -n "$(find $sources -newer $program)" ]; then
        ${CXX:-g++} -x c -O1 -c tests/cuda/fake_cupti.c -o $out/fake_cupti.o &&
            ${CXX:-g++} -std=c++17 -O0 -I. -x c++ tools/dev/cuda_acceptance.cu -x none \
                $out/fake_cupti.o -o $program -lpthread -ldl || exit 2
    fi
else
    make -s build/cuda_acceptance || exit 2
    program=build/cuda_acceptance
fi
names=${*:-$($program --list)}
failed=0
table=$out/table.md
rm -f $out/*.txt

gpu='the stand-in'
[ -n "$fake" ] || gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null)
echo "$gpu, $(date -u +%Y-%m-%d)"
printf '%-10s %-40s %14s  %-14s\n' experiment figure value limit
for name in $names; do
    timeout 300 $program $name >$out/$name.txt 2>&1
    status=$?
    [ $status = 3 ] && { cat $out/$name.txt; exit 3; }
    [ $status -le 1 ] || echo "$name: exit status $status MISS" >>$out/$name.txt
    grep -v '^kernel ' $out/$name.txt
done

# What passed and failed, and the figures as a table.
finish() {
    {
        echo "$gpu, $(date -u +%Y-%m-%d)"
        printf '\n| experiment | figure | value | limit | |\n|---|---|---|---|---|\n'
        for name in $names; do
            grep -E ' (ok|MISS)$' $out/$name.txt | sed -E \
                's/^(.{10}) (.{40}) +([^ ]+) +((<=|=) [^ ]+)? *(ok|MISS)$/| \1 | \2 | \3 | \4 | \6 |/; s/  +/ /g'
        done
    } >$table
    passed=$(cat $out/*.txt | grep -c ' ok$')
    missed=$(cat $out/*.txt | grep -c ' MISS$')
    echo "$passed passed, $missed failed"
    [ "$missed" = 0 ] && [ "$passed" -gt 0 ] && [ $failed = 0 ]
    exit
}
[ -z "$fake" ] || finish

# ---- beside torch.profiler: counts and names equal, medians within 3 % or 0.3 us ----

python=${PYTHON:-python3}
if [ -f $out/kernels.txt ] && $python -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null
then
    nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
    "$nvcc" -O2 -std=c++17 -I. -shared -Xcompiler -fPIC -cudart shared tools/dev/cuda_acceptance.cu \
        -o $out/work.so || exit 2
    $python - $out <<'END' >$out/torch.txt || failed=1
import collections, ctypes, statistics, sys
import torch
from torch.profiler import profile, ProfilerActivity
work = ctypes.CDLL(sys.argv[1] + "/work.so")
torch.cuda.init()
with profile(activities=[ProfilerActivity.CUDA]) as p:
    work.work_vec_add(1000)
    work.work_gemm(50)
    torch.cuda.synchronize()
theirs = collections.defaultdict(list)
for e in p.events():
    if e.device_type == torch.autograd.DeviceType.CUDA:
        theirs[e.name].append(e.time_range.elapsed_us() * 1000)
bad = 0
for line in open(sys.argv[1] + "/kernels.txt"):
    if not line.startswith("kernel "):
        continue
    _, count, ns, name = line.rstrip("\n").split(" ", 3)
    other = theirs.get(name, [])
    median = statistics.median(other) if other else 0
    ok = len(other) == int(count) and abs(median - float(ns)) <= max(0.03 * median, 300)
    bad += not ok
    print(f"torch      {name[:50]:50} {count} / {len(other)} kernels, "
          f"{float(ns) / 1000:.3f} / {median / 1000:.3f} us  {'ok' if ok else 'MISS'}")
sys.exit(bad != 0)
END
    cat $out/torch.txt
else
    echo 'torch      skipped: PyTorch with CUDA is not installed'
fi

# ---- beside ncu: durations, roughly: the card's clocks are left as they are ----

if command -v ncu >/dev/null && [ -f $out/kernels.txt ]; then
    ncu --csv --clock-control none --metrics gpu__time_duration.sum --kernel-name regex:gemm --launch-count 5 \
        $program order 2>/dev/null | tail -n 5 >$out/ncu.csv
    awk -F '","' '{gsub(/[",]/, "", $NF); sum += $NF; n++}
        END {if (n) printf "ncu        gemm, ns, mean of %d: %.0f\n", n, sum / n}' $out/ncu.csv
    grep '^kernel .*gemm' $out/kernels.txt | awk '{print "ncu        ours, ns, median: " $3}'
else
    echo 'ncu        skipped: ncu is not installed'
fi
finish
