#!/bin/sh
# Builds examples/baremetal for every target that this machine has tools for, runs each under an
# emulator and compares: with the fake clock the table, the trace and the stacks are those of the
# first, byte for byte (a Chrome stream: its lines). Then what needs real interrupts. The last line counts.
#   tools/dev/embedded.sh [WORD]    only the checks with WORD in their name
#   FREERTOS=FOLDER                 the source of FreeRTOS-Kernel: without it its checks are skipped
# shellcheck disable=SC2086,SC2030,SC2031   # lists of flags are meant to split; a subshell has an emulator of its own
set -u
cd "$(dirname "$0")/../.." || exit 1

word=${1:-}
out=$PWD/build/embedded
board=examples/baremetal
warn='-std=c99 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
WINEPREFIX=$PWD/build/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
export WINEPREFIX WINEDEBUG WINEDLLOVERRIDES
passed=0 failed=0 skipped=0
mkdir -p "$out"

ok() { passed=$((passed + 1)); echo "ok $1"; }
not_ok() { failed=$((failed + 1)); echo "not ok $1: $2"; }
skip() { skipped=$((skipped + 1)); echo "skip $1: $2 is not installed"; }
wanted() { case $1 in *"$word"*) ;; *) return 1 ;; esac; }

has() {   # NAME TOOL...
    name=$1
    shift
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { skip "$name" "$tool"; return 1; }
    done
}

# ---- How to build and to run ----

bare="-Os -ffreestanding -nostdlib -nostartfiles -ffunction-sections -fdata-sections
    -Wl,--gc-sections -Wl,--no-warn-rwx-segments -fstack-usage -I."
emulator='-nographic -monitor none -semihosting-config enable=on,target=native -icount shift=0'

arm() {   # PROGRAM RAM FLAGS FILE...
    program=$1 ram=$2
    shift 2
    arm-none-eabi-gcc -mthumb $warn $bare -T $board/cortexm.ld -Wl,--defsym=ram_size="$ram" \
        "$@" $board/cortexm.c $board/string.c -lgcc -o "$program"
}

riscv() {   # PROGRAM STACK FLAGS FILE...
    program=$1 ram=$2
    shift 2
    riscv64-unknown-elf-gcc -misa-spec=2.2 -mcmodel=medany $warn $bare -T $board/riscv.ld \
        -Wl,--defsym=ram_size="$ram" "$@" $board/riscv_start.S $board/riscv.c $board/string.c -lgcc -o "$program"
}

# QEMU in the program's folder, where semihosting puts its files; the UART becomes table.txt.
emulate() {   # PROGRAM SYSTEM MACHINE
    bios=''
    [ "$3" = virt ] && bios='-bios none'
    (cd "$(dirname "$1")" && timeout 200 "qemu-system-$2" -M "$3" $bios $emulator \
        -serial file:table.txt -kernel "$1")
}

# ---- The same output everywhere ----

reference='' decode=''

same() {   # NAME: what the folder of that name holds
    if [ -z "$reference" ]; then
        reference=$out/$1
        if ! grep -q 'run;control;filter;tap' "$reference/stacks.txt"; then
            not_ok "$1" 'no stacks'
        elif ! gcc -std=c99 -O1 -I. tests/target/decode.c -o "$out/decode" -lpthread ||
            ! "$out/decode" <"$reference/trace.raw" >"$out/decoded" 2>"$out/said"; then
            not_ok "$1" "the raw stream cannot be read: $(cat "$out/said")"
        else
            decode=$out/decode
            ok "$1"
        fi
        return
    fi
    for file in table.txt trace.json stacks.txt; do    # on targets zones are written as they ended
        sed 's/,$//' "$reference/$file" | sort >"$out/sorted"
        sed -e 's/,$//' -e 's/,"one_core":1//' "$out/$1/$file" | sort | cmp "$out/sorted" - >"$out/said" 2>&1 ||
            { not_ok "$1" "$file: $(cat "$out/said")"; return; }
    done
    decodes "$1" "$out/$1/trace.raw"
}

decodes() {   # NAME RAW-STREAM: to the same zones as that of the first
    if ! "$decode" <"$2" >"$2.txt" 2>"$out/said"; then not_ok "$1" 'the raw stream is damaged'
    elif ! cmp "$out/decoded" "$2.txt" >"$out/said" 2>&1; then not_ok "$1" "$(cat "$out/said")"
    else ok "$1"; fi
}

# The stream without names, by those of the ELF file, is the one that has them.
named() {   # NAME STREAMING
    [ -x build/prof ] || { skip "$1" build/prof; return; }
    if grep -q 'control' "$folder/table.txt"; then not_ok "$1" 'names are in the stream'
    elif ! build/prof decode --elf "$folder/program" "$folder/table.txt" >"$folder/trace.json" 2>"$out/said" ||
        [ -s "$out/said" ] || ! build/prof decode -o "$out/$2/raw.json" "$out/$2/table.txt"
    then not_ok "$1" "it cannot be decoded: $(cat "$out/said")"
    elif ! build/prof stacks "$out/$2/raw.json" >"$out/$2/raw.txt" ||
        ! build/prof stacks "$folder/trace.json" | cmp - "$out/$2/raw.txt" >"$out/said" 2>&1
    then not_ok "$1" "$(cat "$out/said")"
    else ok "$1"; fi
}

# ---- Its variants: what goes over the UART, and the trace, are the first one's ----

variants='chrome aggregate tasks'

variant() {   # NAME: sets app, flags and library
    app=control flags=-DFAKE_CLOCK library=$board/prof.c
    case $1 in
    chrome) flags="$flags -DSTREAM -DCHROME" ;;
    aggregate) flags="$flags -DAGGREGATE" ;;
    tasks) app=tasks flags='' library='' ;;   # it has prof.h's implementation in itself
    esac
}

alike() {   # NAME VARIANT: what the folder of that name holds
    first="$out/first, $2"
    for file in table.txt trace.json; do
        [ -e "$first/$file" ] || continue
        if [ "$2" = chrome ]; then       # zones that end together stand as they began on a PC alone
            sort "$first/$file" >"$out/sorted"
            sed 's/,"one_core":1//' "$out/$1/$file" | sort | cmp "$out/sorted" - >"$out/said" 2>&1
        else
            cmp "$first/$file" "$out/$1/$file" >"$out/said" 2>&1
        fi || { not_ok "$1" "$(cat "$out/said")"; return; }
    done
    ok "$1"
}

of_pc() {   # NAME VARIANT RUNNER COMPILER...
    folder=$out/$1
    variant "$2"
    runner=$3
    shift 3
    rm -rf "$folder"
    mkdir -p "$folder"
    "$@" $flags -I. $board/$app.c $library $board/host.c -o "$folder/program.exe" -lpthread \
        >"$out/said" 2>&1 && (cd "$folder" && timeout 200 $runner ./program.exe >table.txt 2>>"$out/said")
}

# The first ones: a Chrome array of the recorder for PCs; tasks are the bare one's, and its sums
# have fewer buckets.
firsts() {
    for v in $variants; do
        bare_flags='-DPROF_FREESTANDING -DPROF_ARENA_SIZE=32768'
        [ "$v" = chrome ] && bare_flags=''
        of_pc "first, $v" "$v" '' gcc $warn -O1 $bare_flags || not_ok "first, $v" "$(cat "$out/said")"
    done
    grep -q '"name":"tap"' "$out/first, chrome/table.txt" &&
        grep -q ' p99 .*' "$out/first, aggregate/table.txt" &&
        grep -q 'thread 2 (radio)' "$out/first, tasks/trace.json" && return
    not_ok 'variants' 'the first of one is not what it must be'
}

pc_variants() {   # NAME RUNNER COMPILER...: freestanding
    pc=$1 runner=$2
    shift 2
    for v in $variants; do
        wanted "$pc, $v" || continue
        has "$pc, $v" "$1" $runner || continue
        if of_pc "$pc, $v" "$v" "$runner" "$@" -DPROF_FREESTANDING -DPROF_ARENA_SIZE=32768
        then alike "$pc, $v" "$v"
        else not_ok "$pc, $v" "$(head -n 3 "$out/said")"; fi
    done
}

without_places() {   # TRACE: freestanding builds tell none in its head
    sed -e 's/,"sites":\[$/},/' -e '/^{"name":"[^"]*","source":"[^"]*"}/d' "$1" >"$1.new" &&
        mv "$1.new" "$1"
}

hosted() {   # NAME RUNNER COMPILER...
    name=$1 runner=$2
    shift 2
    wanted "$name" || [ -z "$reference" ] || return
    has "$name" "$1" $runner || return
    mkdir -p "$out/$name"
    libs=-lpthread
    case $name in windows*) libs='' ;; esac
    if ! "$@" -DFAKE_CLOCK -I. $board/control.c $board/prof.c $board/host.c \
        -o "$out/$name/program.exe" $libs >"$out/said" 2>&1; then
        not_ok "$name" "does not compile: $(head -n 3 "$out/said")"
        return
    fi
    (cd "$out/$name" && timeout 200 $runner ./program.exe >table.raw 2>said) ||
        { not_ok "$name" "exit status $?"; return; }
    tr -d '\r' <"$out/$name/table.raw" >"$out/$name/table.txt"
    without_places "$out/$name/trace.json"
    same "$name"
}

target() {   # NAME SYSTEM MACHINE BUILDER RAM FLAGS: the application, bare
    wanted "$1" || return
    compiler=arm-none-eabi-gcc
    [ "$4" = riscv ] && compiler=riscv64-unknown-elf-gcc
    has "$1" $compiler "qemu-system-$2" || return
    for kind in '' streaming names $variants interrupts; do
        name=$1${kind:+, $kind} folder="$out/$1${kind:+, $kind}"
        variant "$kind"
        case $kind in
        streaming) flags="$flags -DSTREAM" ;;
        names) flags="$flags -DSTREAM -DPROF_NAMES_IN_ELF -Wl,--build-id" ;;
        interrupts) flags='' ;;
        esac
        mkdir -p "$folder"
        if ! $4 "$folder/program" "$5" $6 $flags $board/$app.c $library >"$out/said" 2>&1
        then
            not_ok "$name" "does not compile: $(head -n 5 "$out/said")"
        elif ! emulate "$folder/program" "$2" "$3"; then not_ok "$name" 'it failed, see above'
        else
            case $kind in
            '') same "$name" ;;
            streaming) decodes "$name" "$folder/table.txt" ;;
            names) named "$name" "$1, streaming" ;;
            interrupts) real "$name" ;;
            *) alike "$name" "$kind" ;;
            esac
        fi
    done
}

handler() {   # NAME: the interrupt is called what the ELF file's vector table has
    [ -x build/prof ] || return 0
    if build/prof decode --elf "$folder/program" -o "$folder/decoded.json" "$folder/trace.raw" 2>"$out/said" &&
        build/prof report "$folder/decoded.json" | grep -q 'Interrupt board_on_timer: ' &&
        build/prof report "$folder/trace.raw" | grep -q 'Interrupt SysTick: '
    then return; fi
    not_ok "$1" "the interrupt's name is wrong: $(cat "$out/said")"
    return 1
}

# With the machine's own clock and interrupts: all zones there, a trace that parses; on Cortex-M
# the interrupt has a row of its own.
real() {   # NAME
    for row in 'run .* 1 *$' 'control .* 6 *$' 'tap .* 18 *$' 'sample '; do
        grep -q "$row" "$folder/table.txt" || { not_ok "$1" "no $row"; return; }
    done
    case $1 in cortex*)
        grep -q '"thread 15 (SysTick)"' "$folder/trace.json" ||
            { not_ok "$1" 'no row for SysTick'; return; }
        handler "$1" || return ;;
    esac
    if command -v python3 >/dev/null; then
        python3 -m json.tool "$folder/trace.json" >/dev/null 2>&1 ||
            { not_ok "$1" 'the trace is not JSON'; return; }
    fi
    ok "$1"
}

gnu() {   # NAME TRIPLE QEMU FLAGS: another ABI, by the C library's own recorder and the bare one
    hosted "$1" "qemu-$3-static" "$2-gcc" $warn -O2 -static
    hosted "$1, freestanding" "qemu-$3-static" "$2-gcc" $warn -O2 -static -DPROF_FREESTANDING -DPROF_ARENA_SIZE=32768
}

firsts
hosted gcc '' gcc $warn -O2
hosted 'gcc, freestanding' '' gcc $warn -O1 -g -fsanitize=address,undefined \
    -fno-sanitize-recover=all -DPROF_FREESTANDING -DPROF_ARENA_SIZE=32768
hosted clang '' clang $warn -O2
hosted tcc '' tcc -std=c99 -Wall -Werror
hosted 'tcc, freestanding' '' tcc -std=c99 -Wall -Werror -DPROF_FREESTANDING -DPROF_ARENA_SIZE=32768
hosted musl '' musl-gcc $warn -O2 -static
hosted c++ '' g++ -x c++ -std=c++11 -O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
    -Wno-missing-field-initializers
gnu aarch64 aarch64-linux-gnu aarch64
gnu arm arm-linux-gnueabihf arm
gnu i386 i686-linux-gnu i386
gnu riscv64 riscv64-linux-gnu riscv64
gnu s390x s390x-linux-gnu s390x
pc_variants s390x qemu-s390x-static s390x-linux-gnu-gcc $warn -O2 -static
pc_variants gcc '' gcc $warn -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
pc_variants tcc '' tcc -std=c99 -Wall -Werror
hosted windows "$wine" x86_64-w64-mingw32-gcc $warn -O2 -static

target cortex-m0 arm microbit arm 0x4000 '-mcpu=cortex-m0 -DBOARD_MICROBIT -DPROF_ARENA_SIZE=11520 -DPROF_MAX_SITES=16'
target cortex-m3 arm mps2-an385 arm 0x8000 '-mcpu=cortex-m3 -DPROF_ARENA_SIZE=16384'
target cortex-m4f arm mps2-an386 arm 0x8000 \
    '-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16 -DPROF_ARENA_SIZE=16384'
target cortex-m7 arm mps2-an500 arm 0x8000 \
    '-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16 -DPROF_ARENA_SIZE=16384'
target rv32imac riscv32 virt riscv 0x2000 '-march=rv32imac -mabi=ilp32 -DPROF_ARENA_SIZE=16384'
target rv64imac riscv64 virt riscv 0x4000 '-march=rv64imac -mabi=lp64 -DPROF_ARENA_SIZE=32768'

# ---- A crash: the HardFault handler dumps the ring, in which the last zones are ----

fault() {   # CPU MACHINE
    name="fault $1"
    wanted "$name" || return
    has "$name" arm-none-eabi-gcc qemu-system-arm || return
    folder=$out/fault
    mkdir -p "$folder"
    arm "$folder/program" 0x2000 -mcpu="$1" -DPROF_ARENA_SIZE=2560 -DPROF_MAX_SITES=16 \
        tests/target/fault.c $board/prof.c >"$out/said" 2>&1 ||
        { not_ok "$name" "does not compile: $(head -n 5 "$out/said")"; return; }
    emulate "$folder/program" arm "$2" || { not_ok "$name" 'it failed, see above'; return; }
    "$decode" <"$folder/table.txt" >"$folder/decoded" 2>/dev/null ||
        { not_ok "$name" 'the dump is damaged'; return; }
    for line in 'zone work .* depth 1' 'counter step number .* 4990' 'zone doomed .*unfinished'; do
        grep -q "$line" "$folder/decoded" || { not_ok "$name" "no $line in the dump"; return; }
    done
    ok "$name"
}

fault cortex-m0 mps2-an385
fault cortex-m3 mps2-an385

# ---- A clock that stands, as the cycle counter does in QEMU: refused ----

still() {   # CPU
    name="still $1"
    wanted "$name" || return
    has "$name" arm-none-eabi-gcc qemu-system-arm || return
    folder=$out/still
    mkdir -p "$folder"
    arm "$folder/program" 0x8000 -mcpu="$1" tests/target/still.c >"$out/said" 2>&1 ||
        { not_ok "$name" "does not compile: $(head -n 5 "$out/said")"; return; }
    if emulate "$folder/program" arm mps2-an385; then ok "$name"
    else not_ok "$name" 'prof_start takes it'; fi
}

still cortex-m3

# ---- What small arenas hold ----

room() {   # CPU MACHINE
    name="room $1"
    wanted "$name" || return
    has "$name" arm-none-eabi-gcc qemu-system-arm || return
    folder=$out/room
    mkdir -p "$folder"
    arm "$folder/program" 0x20000 -mcpu="$1" '-DPROF_NOW()=(*(volatile uint32_t *)0x40028018)' \
        tests/target/room.c >"$out/said" 2>&1 ||
        { not_ok "$name" "does not compile: $(head -n 5 "$out/said")"; return; }
    emulate "$folder/program" arm "$2"
    got=$?
    if [ $got = 0 ]; then ok "$name"; else not_ok "$name" "check $got of tests/target/room.c failed"; fi
}

room cortex-m0 mps2-an385
room cortex-m3 mps2-an385

# ---- The race: an interrupt in the midst of the recorder ----

interrupted() {   # NAME STATUSES CPU FLAGS AND FILES...: one of them it must have; 98: a fault
    name=$1 statuses=$2 cpu=$3
    shift 3
    wanted "$name" && has "$name" arm-none-eabi-gcc qemu-system-arm || return
    folder=$out/race
    mkdir -p "$folder"
    arm "$folder/program" 0x400000 -mcpu="$cpu" "$@" >"$out/said" 2>&1 ||
        { not_ok "$name" "does not compile: $(head -n 5 "$out/said")"; return 1; }
    emulate "$folder/program" arm mps2-an385
    got=$?
    case " $statuses " in *" $got "*) return ;; esac
    not_ok "$name" "exit status $got, not $statuses: $(head -c 2000 "$folder/table.txt" | tr -cd '\40-\176\n' | tr '\n' ' ')"
    return 1
}

race() {   # NAME STATUSES CPU FLAGS...
    interrupted "$@" -DPROF_ARENA_SIZE=3900000 tests/target/race.c $board/prof.c && ok "$name"
}

for cpu in cortex-m0 cortex-m3; do
    race "race $cpu, contexts" 0 $cpu
    race "race $cpu, PROF_LOCK" 0 $cpu '-DPROF_LOCK()=board_mask()' '-DPROF_UNLOCK(s)=board_unmask(s)'
    race "race $cpu without protection fails" '3 98' $cpu '-DPROF_CONTEXT()=0u'
done
race 'race cortex-m3, begin and end in C' 0 cortex-m3 -DPROF_NO_ASM

# ---- A task without privileges, under an MPU: the race again ----

unprivileged() {   # NAME STATUSES FLAGS...
    task="unprivileged, $1" codes=$2
    shift 2
    interrupted "$task" "$codes" cortex-m3 -DPROF_ARENA_SIZE=3900000 "$@" \
        tests/target/unprivileged.c $board/prof.c && ok "$name"
}

unprivileged 'by SVC' 0 -DBOARD_UNPRIVILEGED
unprivileged 'cpsid fails' '3 4 5 98'
unprivileged "the kernel's memory faults" 98 -DBOARD_UNPRIVILEGED -DTRESPASS

# ---- core.h: the same program everywhere, with the same result; then interrupts ----

first_core=''

core_same() {   # NAME: what stands in its folder
    if ! "$decode" <"$folder/trace.raw" >"$folder/decoded" 2>"$out/said"; then
        not_ok "$1" "the dump is damaged: $(cat "$out/said")"
        return
    fi
    [ -n "$first_core" ] || first_core=$folder
    for file in table.txt decoded trace.raw; do
        cmp "$first_core/$file" "$folder/$file" >"$out/said" 2>&1 ||
            { not_ok "$1" "$(cat "$out/said")"; return; }
    done
    ok "$1"
}

core() {   # NAME SYSTEM MACHINE BUILDER RAM FLAGS
    name="core $1"
    wanted "$name" || return
    folder=$out/$name
    mkdir -p "$folder"
    if [ "$2" = host ]; then
        gcc $warn -O1 -I. tests/target/core.c $board/host.c \
            -o "$folder/program" >"$out/said" 2>&1 && (cd "$folder" && ./program >table.txt)
    else
        compiler=arm-none-eabi-gcc
        [ "$4" = riscv ] && compiler=riscv64-unknown-elf-gcc
        has "$name" $compiler "qemu-system-$2" || return
        $4 "$folder/program" "$5" $6 tests/target/core.c >"$out/said" 2>&1 &&
            emulate "$folder/program" "$2" "$3"
    fi || { not_ok "$name" "$(head -n 5 "$out/said"; head -n 5 "$folder/table.txt")"; return; }
    core_same "$name"
}

core_race() {   # NAME STATUSES CPU FLAGS...: and its dump is whole
    name="core race $1"
    shift
    interrupted "$name" "$@" -DPROF_ARENA_SIZE=900000 tests/target/core_race.c || return
    if [ $got != 0 ] || "$decode" <"$folder/table.txt" >"$folder/decoded" 2>/dev/null; then ok "$name"
    else not_ok "$name" 'the dump is damaged'; fi
}

core host host
core cortex-m0 arm mps2-an385 arm 0x8000 -mcpu=cortex-m0
core cortex-m3 arm mps2-an385 arm 0x8000 -mcpu=cortex-m3
core cortex-m7 arm mps2-an500 arm 0x8000 -mcpu=cortex-m7
core rv32imac riscv32 virt riscv 0x2000 '-march=rv32imac -mabi=ilp32'
for cpu in cortex-m0 cortex-m3; do
    core_race $cpu 0 $cpu
    core_race "$cpu, PROF_LOCK" 0 $cpu '-DPROF_LOCK()=board_mask()' '-DPROF_UNLOCK(s)=board_unmask(s)'
    core_race "$cpu, one row" 0 $cpu -DONE_ROW
done

without() {   # NAME SED-SCRIPT: a core.h that lacks something, which must be found out
    lacking=$out/lacking/$board
    mkdir -p "$lacking"
    sed "$2" $board/core.h >"$lacking/core.h"
    core_race "cortex-m0 without $1 fails" '3 5 98' cortex-m0 -iquote "$out/lacking"
}

without 'protection' '/prof__end_top(/,/^}/s/= prof__mask()/= 0/'
without 'the row before top' '/^    f->site = word;$/d'
without 'the row after top' '/f->site = word;  /d'

# ---- Tasks of a kernel of the test's own, and its account of them ----

kernel() {   # CPU MACHINE NOISE FLAG: what its schedule depends on
    name="kernel $1, noise $3 ${4:-}"
    cpu=$1 machine=$2
    wanted "$name" || return
    has "$name" arm-none-eabi-gcc qemu-system-arm || return
    folder=$out/kernel
    mkdir -p "$folder"
    arm "$folder/program" 0x400000 -mcpu="$cpu" "-DNOISE=$3u" ${4:-} tests/target/kernel.c >"$out/said" 2>&1 ||
        { not_ok "$name" "does not compile: $(head -n 5 "$out/said")"; return; }
    emulate "$folder/program" arm "$machine"
    got=$?
    if [ $got = 0 ]; then ok "$name"
    else not_ok "$name" "exit status $got: $(tr '\n' ' ' <"$folder/table.txt")"; fi
}

for noise in 1 77777 3141592653; do
    kernel cortex-m0 mps2-an385 $noise
    kernel cortex-m3 mps2-an385 $noise
    kernel cortex-m7 mps2-an500 $noise
done
kernel cortex-m3 mps2-an385 1 -DPROF_NO_ASM

# ---- FreeRTOS itself: FREERTOS=FOLDER names the kernel's source ----

# An application of eleven tasks, with all that they wait for: the trace has what they counted.
freertos() {   # NAME FLAGS...
    name="freertos, $1" folder=$out/freertos kernel=${FREERTOS:-}
    shift
    wanted "$name" || return
    if [ ! -f "$kernel/tasks.c" ]; then
        skipped=$((skipped + 1))
        echo "skip $name: FREERTOS=FOLDER must name the source of FreeRTOS-Kernel (V11)"
        return
    fi
    has "$name" arm-none-eabi-gcc qemu-system-arm build/prof || return
    rm -rf "$folder"
    mkdir -p "$folder/include"
    echo '#include <stddef.h>' | tee "$folder/include/stdlib.h" >"$folder/include/string.h"
    grep -E '^(void|int|size_t) .*\);$' $board/string.c >>"$folder/include/string.h"
    sources=''
    for file in "$kernel/portable/GCC/$port"/*.c; do
        case $file in *mpu_wrappers*) ;; *) sources="$sources $file" ;; esac
    done
    for file in tasks queue list timers event_groups stream_buffer portable/MemMang/heap_4; do
        sources="$sources $kernel/$file.c"
    done
    if ! arm "$folder/program" 0x400000 -std=gnu99 -DPROF_ARENA_SIZE=1500000 \
        -Itests/target/freertos -I"$folder/include" -isystem "$kernel/include" \
        -isystem "$kernel/portable/GCC/$port" "$@" \
        tests/target/freertos/app.c $board/prof.c $sources >"$out/said" 2>&1
    then not_ok "$name" "does not compile: $(head -n 5 "$out/said")"
    elif ! emulate "$folder/program" arm mps2-an385; then not_ok "$name" 'it failed, see above'
    elif ! "$check" >"$out/said" 2>&1; then not_ok "$name" "$(head -n 5 "$out/said")"
    else ok "$name"; fi
}

counted() {   # a zone for each count, or one less: the last may be between the two
    build/prof report -f csv --limit all "$1" 2>/dev/null | tr -d '"' |
        awk -F, 'NR == FNR {split($0, of, " "); counts[of[1]] = of[2]; next}
            {calls[$1] = $2}
            END {for (name in counts)
                     if (name ~ /^=/ ? counts[name] : name !~ /^@/ && (calls[name] > counts[name] || calls[name] + 1 < counts[name]))
                         print name, calls[name], "not", counts[name]}' "$folder/counts.txt" - >"$folder/differ"
    [ ! -s "$folder/differ" ] || { cat "$folder/differ"; return 1; }
}

# What the kernel told: objects by name, waits, who was ready; and the core's time is somebody's.
told_by_kernel() {   # TRACE
    build/prof decode "$1" 2>/dev/null >"$folder/decoded.json"
    [ $? != 2 ] || cp "$1" "$folder/decoded.json"    # it is JSON
    for what in 'queue rx' 'queue [0-9a-f]*' 'mutex bus' 'semaphore conversions' 'stack display' 'ready filter' \
        'timer blink' 'delay' 'notification' 'event group' 'stream buffer'; do
        grep -q "\"name\": *\"$what\"" "$folder/decoded.json" || { echo "no $what"; return 1; }
    done
    build/prof report --contexts -f csv "$1" 2>/dev/null |
        awk -F, 'NR == FNR {split($0, told, " "); if (told[1] == "@elapsed") all = told[2]; next}
            {of[$2] = $7; sum += $3; us += $4}
            END {print sum, us, "of", all
                 exit !(sum > 99.8 && sum < 100.2 && us > 0.998 * all && us < 1.002 * all && of["Task adc"] > 0)}' \
            "$folder/counts.txt" - || { echo 'the shares of the core, or its time, are wrong'; return 1; }
}
# Each interrupt of the ADC wakes its task: an arrow to that run.
arrows() {
    awk 'NR == FNR {counts[$1] = $2; next}
         /"ph": "s", "cat": "wake"/ && /"tid": 24,/ {n++}
         END {print n + 0, "arrows of", counts["isr"]; exit !(n <= counts["isr"] && n + 1 >= counts["isr"])}' \
        "$folder/counts.txt" "$folder/decoded.json"
}
of_stream() { counted "$folder/table.txt" && told_by_kernel "$folder/table.txt" && arrows; }
# The target's own lines of the load are those of prof report, but for shares, whose whole begins later.
same_load() {
    build/prof report --contexts -f csv "$folder/trace.json" 2>/dev/null |
        awk -F, '$2 ~ /^(Task|Interrupt) / {print $2 ": " $4 " us, " $5 " times, at most " $6 " us at once"}' |
        sort >"$folder/load.txt"
    sed -n 's/^\([TI][a-z]* .*: \).* of the core, /\1/p' "$folder/table.txt" | sort | diff "$folder/load.txt" - &&
        [ "$(wc -l <"$folder/load.txt")" -ge 12 ]
}
of_trace() { counted "$folder/trace.json" && told_by_kernel "$folder/trace.json" && same_load; }
of_tasks() { counted "$folder/table.txt" && ! grep -q 'queue rx' "$folder/table.txt"; }
nothing() { [ -s "$folder/counts.txt" ]; }
port=ARM_CM3
check=of_stream && freertos 'a stream' -mcpu=cortex-m3 -DSTREAM
check=of_trace && freertos 'a trace on the target' -mcpu=cortex-m3
check=of_tasks && freertos 'tasks alone' -mcpu=cortex-m3 -DSTREAM -DPROF_KERNEL_NO_OBJECTS
check=nothing && freertos 'without prof.h' -mcpu=cortex-m3 -DWITHOUT_PROF
port=ARM_CM0
check=of_stream && freertos 'cortex-m0, by the kernel'"'"'s SysTick' -mcpu=cortex-m0 -DSTREAM \
    -DBOARD_SYSTICK -DPROF_KERNEL_TICKS=1

# ---- Two cores: one at a time and, as threads of the emulator, at once ----

cores() {   # NAME FLAGS...: builds it
    name="two cores, $1" folder=$out/cores
    shift
    wanted "$name" && has "$name" arm-none-eabi-gcc qemu-system-arm || return
    mkdir -p "$folder"
    arm "$folder/program" 0x200000 -mcpu=cortex-m33 -DBOARD_AN521 -Wl,--defsym=flash_at=0x10000000 \
        -Wl,--defsym=ram_at=0x38000000 -DPROF_ARENA_SIZE=1600000 "$@" $board/cores.c $board/prof.c \
        >"$out/said" 2>&1 && return
    not_ok "$name" "does not compile: $(head -n 5 "$out/said")"
    return 1
}

at_once() {   # RUNS: until a count is wrong
    for _ in $(seq "$1"); do
        (emulator=${emulator% -icount*} && emulate "$folder/program" arm mps2-an521)
        got=$?
        case $got in 0 | 5) ;; *) return 1 ;; esac             # 5: one of them came too late for a job
    done
}

if cores 'in turn'; then
    emulate "$folder/program" arm mps2-an521
    got=$?
    if [ $got = 0 ] && [ "$(grep -c '"thread [0-3] ([a-z ]*[01])"' "$folder/trace.json")" = 4 ]
    then ok "$name"; else not_ok "$name" "exit status $got: $(tail -n 3 "$folder/table.txt")"; fi
fi
if cores 'at once'; then
    if at_once 5; then ok "$name"; else not_ok "$name" "exit status $got"; fi
fi
if cores 'without a lock fail' -DJOBS=8000u '-DPROF_LOCK()=0' '-DPROF_UNLOCK(s)=(void)(s)'; then
    if at_once 100; then not_ok "$name" 'no zone was lost in 100 runs'; else ok "$name"; fi
fi

# ---- Live: prof decode connects to the emulator's serial port ----

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

connects() {   # PORT: until the emulator listens
    for _ in $(seq 100); do
        build/prof decode --connect "127.0.0.1:$1" --follow -o "$folder/trace.json" >"$out/said" 2>&1 && return
        grep -q 'Connection refused' "$out/said" || return
        sleep 0.1
    done
    return 1
}

live() {
    name='live, over TCP' folder=$out/live
    wanted "$name" && has "$name" arm-none-eabi-gcc qemu-system-arm python3 build/prof || return
    mkdir -p "$folder"
    arm "$folder/program" 0x200000 -mcpu=cortex-m3 -DFAKE_CLOCK -DSTREAM $board/control.c $board/prof.c \
        >"$out/said" 2>&1 || { not_ok "$name" "does not compile: $(head -n 5 "$out/said")"; return; }
    port=$(free_port)
    (cd "$folder" && exec timeout 300 qemu-system-arm -M mps2-an385 $emulator \
        -serial "tcp:127.0.0.1:$port,server=on,wait=on" -kernel program 2>qemu.txt) &
    if ! connects "$port"; then not_ok "$name" "$(tail -n 3 "$out/said")"
    elif ! build/prof decode -o "$folder/first.json" "$reference/trace.raw" ||
        ! build/prof stacks "$folder/first.json" >"$folder/first.txt" ||
        ! build/prof stacks "$folder/trace.json" | cmp - "$folder/first.txt" >"$out/said" 2>&1
    then not_ok "$name" "$(cat "$out/said")"
    else ok "$name"; fi
    wait
}
live

# ---- The lines in the folder's README.md, as they stand there ----

readme() {
    folder=$out/readme
    rm -rf "$folder"
    mkdir -p "$folder"
    ln -s "$PWD/prof.h" "$PWD/examples" "$folder"
    awk -v to="$folder/" '/^```$/ {on = 0} on {print >file} /^```sh$/ {on = 1; file = to (++n) ".sh"}' \
        $board/README.md
    for script in "$folder"/[0-9]*.sh; do
        name="readme, $(basename "$script" .sh): $(head -n 1 "$script" | cut -d ' ' -f 1-3)"
        wanted "$name" || continue
        # shellcheck disable=SC2046   # words: what compiles, links, runs or tells of libgcc
        has "$name" $(grep -oE '(arm-none-eabi-gcc|riscv64-unknown-elf-gcc|clang|lld|qemu-system-[a-z0-9]*)' \
            "$script" | sort -u) || continue
        rm -f "$folder/trace.json"
        (cd "$folder" && timeout 200 sh -e "$script") >"$out/said" 2>&1 </dev/null
        if grep -q 'tap .* 18 *$' "$out/said" && [ -s "$folder/trace.json" ]; then ok "$name"
        else not_ok "$name" "$(tail -n 5 "$out/said")"; fi
    done
}
readme

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
