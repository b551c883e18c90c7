#!/bin/sh
# What prof.h costs on microcontrollers: bytes of code, of RAM, instructions per zone, measured on
# tests/target/size.c with -Os. Prints a table and writes it as JSON. Exit status 1: the library
# needs more of a C library than memcpy and its kin, or has recursion or stack without bound.
#   tools/dev/size.sh FILE.json
# The size of a part is what it adds to an image that has none of it, with memcpy, names of files and
# what of the compiler's library it takes: record_text is a zone, with all that its begin and end
# call (names, contexts, pages, wraps of the clock); recorder_text is that with prof_start and
# prof_stop; moments_text has instants, counters, prof_push too; dump_text and raw_text the raw
# stream, at the end or live; chrome_text a Chrome array, live; aggregate_text the sums and their
# table; table_text, trace_text and stacks_text a writer each of a whole trace; full_text all of
# those three. zone_flash and zone_ram are what each zone more takes, in a function of its own;
# elf_zone_flash and elf_zone_ram with PROF_NAMES_IN_ELF. min_ram: 32 open zones and 32 more, recorded, in 16 contexts' table; prof_dump's
# block of 616 bytes is not in it. Instructions are counted by QEMU, a zone around nothing less the
# same without the zone; in plain_instructions nobody calls prof_tick; task_zone is a zone in a
# kernel's task, switch what prof_task_in takes. full, ring and sums are zones: in a trace whose memory is full,
# in a ring of 8 KiB with its changes of pages, in sums; moment is an instant, push prof_push and prof_pop. core_ are those of examples/baremetal/core.h. masked_max is how many
# instructions of prof.h interrupts are masked for at most, in any public call, with as many names as
# there can be (tests/target/masked.c). Code for Cortex-M0 runs on an M3.
# shellcheck disable=SC2086   # lists of flags are meant to split
set -u
cd "$(dirname "$0")/../.." || exit 1

json=${1:-build/size.json}
out=build/size
board=examples/baremetal
main=tests/target/size.c
bare="-std=c99 -Os -ffreestanding -nostdlib -nostartfiles -ffunction-sections -fdata-sections
    -Wl,--gc-sections -Wl,--no-warn-rwx-segments -Wl,--defsym=ram_size=0x200000 -I."
mkdir -p $out "$(dirname "$json")"
printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' >$out/prof.c
printf '#define PROF_IMPLEMENTATION\n#include "%s/core.h"\n' $board >$out/core.c

compile() {   # TARGET FLAGS...
    case $1 in
    rv32) compiler='riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -misa-spec=2.2 -mcmodel=medany' ;;
    *) compiler="arm-none-eabi-gcc -mcpu=$1 -mthumb" ;;
    esac
    shift
    $compiler $bare "$@" || exit 1
}

link() {   # TARGET PROGRAM LIBRARY FLAGS...: $main and the library
    case $1 in
    rv32) files="-T $board/riscv.ld $board/riscv_start.S $board/riscv.c $board/string.c" ;;
    *) files="-T $board/cortexm.ld $board/cortexm.c $board/string.c" ;;
    esac
    target=$1 program=$2 library=$3
    shift 3
    compile "$target" "$@" $files $main "$library" -lgcc -o "$program"
}

bytes() {   # PROGRAM SECTION...: their sizes, added
    program=$1
    shift
    size -A "$program" | awk -v list=" $* " 'index(list, " " $1 " ") {sum += $2} END {print sum + 0}'
}

# What the library leaves to others, and what its functions take of the stack.
needs() {   # TARGET FILE: one with the implementation
    case $1 in
    rv32) compiler='riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -misa-spec=2.2' ;;
    *) compiler="arm-none-eabi-gcc -mcpu=$1 -mthumb" ;;
    esac
    $compiler -std=c99 -Os -ffreestanding -ffunction-sections -fstack-usage -fcallgraph-info -I. \
        -c "$2" -o $out/needs.o || exit 1
    others=$(${compiler%%gcc*}nm -u $out/needs.o | awk '{print $2}' |
        grep -vE '^(__(start|stop)_prof_marks|mem(cpy|set|move|cmp)|str(len|cmp|ncmp)|__aeabi_(u?idiv|u?ldivmod|u?idivmod|lmul|l[als]s[lr]|mem[a-z0-9]*)|__(u?div|u?mod|mul|ash[lr]|lshr|gnu_thumb1_case_)[a-z0-9_]*)$')
    [ -z "$others" ] || fail "$1: $2 needs" $others
    unbounded=$(awk -F'\t' '$3 != "static"' $out/needs.su)
    [ -z "$unbounded" ] || fail "$1, $2: stack without bound:" "$unbounded"
    sed -n 's/^edge: { sourcename: "\([^"]*\)" targetname: "\([^"]*\)".*/\1 \2/p' $out/needs.ci |
        tsort >/dev/null 2>$out/loops || fail "$1, $2: recursion:" "$(cat $out/loops)"
    largest=$(awk -F'\t' '{sub(/.*:/, "", $1); print $2, $1}' $out/needs.su | sort -rn | head -n 1)
}

fail() {
    echo "size: $*" >&2
    failed=1
}

flash() { bytes "$1" .text .rodata .data prof_marks; }
ram() { bytes "$1" .data .bss; }

count() {   # TARGET FLAG...: the lines that the program prints, "NAME HUNDREDTHS"
    clock=-DPROF_CLOCK_AT=0x40028018     # a timer; CYCCNT, which is read alike, stands in QEMU
    [ "$1" = rv32 ] && clock=-DDEFAULT_CLOCK
    target=$1
    shift
    link "$target" $out/count $out/prof.c -DCOUNT -DPROF_ARENA_SIZE=1048576 "$clock" "$@"
    counts "$target"
}

counts() {   # TARGET
    rm -f $out/count.txt
    emulate "$1" $out/count ||
        { echo "size: $1: the program that counts ended with status $?" >&2; exit 1; }
}

emulate() {   # TARGET PROGRAM FLAGS...: its UART goes to count.txt
    program=$2
    case $1 in
    rv32) system=riscv32 machine='virt -bios none' ;;
    cortex-m4) system=arm machine=mps2-an386 ;;
    *) system=arm machine=mps2-an385 ;;
    esac
    shift 2
    timeout 300 qemu-system-$system -M $machine -nographic -monitor none -icount shift=0 \
        -semihosting-config enable=on,target=native -serial file:$out/count.txt -kernel "$program" "$@"
}

# A figure: into the JSON, and with its limit on the terminal.
put() {   # KEY VALUE LIMIT (0: none) NOTE
    printf '%s\n    "%s": %s' "$comma" "$1" "$2" >>"$json.part"
    comma=,
    verdict=''
    [ "$3" = 0 ] && verdict=${4:-}
    [ "$3" = 0 ] || verdict=$(awk -v v="$2" -v m="$3" 'BEGIN {print (v <= m ? "ok" : "MISSED") ", at most " m}')
    printf '  %-24s %8s   %s\n' "$1" "$2" "$verdict"
}

part() {   # KEY PART LIMIT FLAGS...: the flash that a part adds
    key=$1 number=$2 limit=$3
    shift 3
    link "$target" $out/program $out/library.o -DPART="$number" "$@"
    put "$key" $(($(flash $out/program) - empty)) "$limit"
}

# What a zone takes: of sixteen, the sixteenth part.
zones() {   # KEY FLASH-LIMIT FLAGS...
    key=$1 limit=$2
    shift 2
    link "$target" $out/half $out/prof.c -DPART=ZONES -DHALF "$@"
    link "$target" $out/program $out/prof.c -DPART=ZONES "$@"
    put "${key}_flash" $((($(flash $out/program) - $(flash $out/half) + 8) / 16)) "$limit"
    zone_ram=$((($(ram $out/program) - $(ram $out/half)) / 16))
    put "${key}_ram" $zone_ram 0
}

# The least RAM that does, by trial: the program says whether its arena was enough.
least_ram() {   # TARGET
    low=75 high=128                      # times 16 bytes
    while [ $low -lt $high ]; do
        arena=$(((low + high) / 2))
        with_arena "$1" $arena
        if emulate "$1" $out/program 2>/dev/null; then high=$arena; else low=$((arena + 1)); fi
    done
    with_arena "$1" $high
    link "$1" $out/empty $out/library.o -DPART=EMPTY
    put min_ram $(($(ram $out/program) - $(ram $out/empty))) 2048
}

with_arena() {   # TARGET SIXTEENTHS
    link "$1" $out/program $out/prof.c -DPART=LEAST -DPROF_ARENA_SIZE=$(($2 * 16)) \
        -DPROF_MAX_SITES=16 -DPROF_MAX_CONTEXTS=16 '-DPROF_NOW()=0u'
}

addresses() {   # PATTERN: of the instructions that match it
    awk -v pattern="$1" '$0 ~ pattern {
        for (a = $1; length(a) < 9;) a = "0" a
        printf "%s ", substr(a, 1, 8)
    }' $out/masked.s
}

masked() {   # TARGET: the longest stretch with interrupts masked
    main=tests/target/masked.c clock=0x20300000
    [ "$1" != rv32 ] || clock=0x84000000
    link "$1" $out/masked $out/prof.c -DPROF_ARENA_SIZE=32768 -DCLOCK_AT=$clock \
        "-DPROF_NOW()=(*(volatile uint32_t *)$clock)"   # that the program sets
    main=tests/target/size.c
    ${tool%gcc}objdump -d $out/masked >$out/masked.s
    { emulate "$1" $out/masked -singlestep -d exec,nochain; echo "ended $?"; } 2>&1 |
        awk -v mask="$(addresses 'cpsid|csrrc.*mstatus')" -v unmask="$(addresses 'msr.PRIMASK|csrw.*mstatus')" \
            -f tools/dev/masked.awk >$out/masked.txt ||
        { echo "size: $1: the program that masks failed" >&2; exit 1; }
    most=$(sort -rn $out/masked.txt | head -n 1)
    put masked_max "${most% *}" 150
    [ "${most% *}" -le 150 ] || fail "$1: interrupts are masked for ${most% *} instructions in ${most#* }"
}

# core.h, against the same program without a recorder.
core() {   # TARGET
    case $1 in                           # it reads no timer by its address: CYCCNT stands in QEMU
    rv32) clock=-DDEFAULT_CLOCK ;;
    *) clock='-DPROF_NOW()=(*(volatile uint32_t *)0x40028018)' ;;
    esac
    link "$1" $out/count $out/core.c -DCOUNT -DCORE -DPROF_ARENA_SIZE=1048576 "$clock"
    counts "$1"
    instructions core_zone_instructions zone "$2"
    instructions core_pair_instructions pair 0
    compile "$1" -c $out/core.c -o $out/library.o
    part core_text RECORDER 900 -DCORE
    part core_dump_text DUMP "$3" -DCORE
    needs "$1" $out/core.c
}

instructions() {   # KEY NAME LIMIT: what the program counted
    put "$1" "$(awk -v name="$2" '$1 == name {printf "%.1f", $2 / 100}' $out/count.txt)" "$3"
}

measure() {   # TARGET ZONE-LIMIT FULL-LIMIT, of core.h: ZONE-LIMIT DUMP-LIMIT
    target=$1 comma=''
    case $target in rv32) tool=riscv64-unknown-elf-gcc ;; *) tool=arm-none-eabi-gcc ;; esac
    command -v $tool >/dev/null || { echo "$target: skipped, $tool is not installed"; return; }
    echo "$target"
    printf '%s\n  "%s": {' "$between" "$target" >>"$json.part"
    between=,
    count "$target"
    instructions zone_instructions zone "$2"
    instructions plain_instructions plain 0
    instructions pair_instructions pair 0
    instructions task_zone_instructions task_zone "$2"
    instructions switch_instructions switch 0
    instructions off_instructions off_zone 8
    count "$target" -DMODES
    for mode in full ring sums moment push; do instructions ${mode}_instructions $mode 0; done
    masked "$target"
    compile "$target" -c $out/prof.c -o $out/library.o
    link "$target" $out/program $out/library.o -DPART=EMPTY
    empty=$(flash $out/program)
    part record_text RECORD 0
    part recorder_text RECORDER 2100
    part moments_text MOMENTS 0
    part dump_text DUMP 0
    part raw_text RAW 0
    part chrome_text CHROME_ARRAY 5400
    part aggregate_text AGGREGATE 7744
    part table_text TABLE 0
    part trace_text CHROME 0
    part stacks_text STACKS 0
    part full_text FULL "$3"
    zones zone 0
    zones elf_zone 40 -DPROF_NAMES_IN_ELF
    [ "$zone_ram" = 0 ] || fail "$target: a zone with its names in the ELF file takes $zone_ram bytes of RAM"
    least_ram "$target"
    needs "$target" $out/prof.c
    put stack_largest "${largest% *}" 0 "${largest#* }"
    core "$target" "$4" "$5"
    printf '\n  }' >>"$json.part"
}

between='' failed=0
printf '{' >"$json.part"
measure cortex-m0 60 0 66 0
measure cortex-m3 46 20480 61 1800
measure cortex-m4 46 0 61 1800
measure rv32 50 0 66 0
printf '\n}\n' >>"$json.part"
mv "$json.part" "$json"
exit $failed
