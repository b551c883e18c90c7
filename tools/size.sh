#!/bin/sh
# What prof.h costs on microcontrollers: bytes of code, of RAM, instructions per zone, measured on
# tests/embedded/size.c with -Os. Prints a table and writes it as JSON.
#   tools/size.sh FILE.json
# The size of a part is what it adds to an image that has none of it. Instructions are counted by
# QEMU, a zone around nothing less the same without the zone. Code for Cortex-M0 runs on an M3.
# shellcheck disable=SC2086   # lists of flags are meant to split
set -u
cd "$(dirname "$0")/.." || exit 1

json=${1:-build/size.json}
out=build/size
board=examples/baremetal
bare="-std=c99 -Os -ffreestanding -nostdlib -nostartfiles -ffunction-sections -fdata-sections
    -Wl,--gc-sections -Wl,--no-warn-rwx-segments -Wl,--defsym=ram_size=0x200000 -DPROF_STRING -I."
mkdir -p $out "$(dirname "$json")"
printf '#define PROF_IMPLEMENTATION\n#include "prof.h"\n' >$out/prof.c

link() {   # TARGET PROGRAM FLAGS: tests/embedded/size.c and the library
    program=$2
    case $1 in
    rv32)
        shift 2
        riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -misa-spec=2.2 -mcmodel=medany $bare \
            "$@" -T $board/riscv.ld $board/riscv_start.S $board/riscv.c \
            tests/embedded/size.c $out/prof.c -lgcc -o "$program" ;;
    *)
        cpu=$1
        shift 2
        arm-none-eabi-gcc -mcpu="$cpu" -mthumb $bare "$@" -T $board/cortexm.ld $board/cortexm.c \
            tests/embedded/size.c $out/prof.c -lgcc -o "$program" ;;
    esac || exit 1
}

bytes() {   # PROGRAM SECTION...: their sizes, added
    program=$1
    shift
    size -A "$program" | awk -v list=" $* " 'index(list, " " $1 " ") {sum += $2} END {print sum + 0}'
}

flash() { bytes "$1" .text .rodata .data; }
ram() { bytes "$1" .data .bss; }

count() {   # TARGET: the lines that the program prints, "NAME HUNDREDTHS"
    clock=-DDEFAULT_CLOCK
    [ "$1" = cortex-m0 ] && clock='-DPROF_NOW()=(*(volatile uint32_t *)0x40028018)'   # a timer's
    link "$1" $out/count -DCOUNT -DPROF_ARENA_SIZE=1048576 "$clock"
    emulator="-nographic -monitor none -icount shift=0 -semihosting-config enable=on,target=native"
    rm -f $out/count.txt
    case $1 in
    rv32) timeout 60 qemu-system-riscv32 -M virt -bios none $emulator -serial file:$out/count.txt \
        -kernel $out/count ;;
    cortex-m4) timeout 60 qemu-system-arm -M mps2-an386 $emulator -serial file:$out/count.txt \
        -kernel $out/count ;;
    *) timeout 60 qemu-system-arm -M mps2-an385 $emulator -serial file:$out/count.txt \
        -kernel $out/count ;;
    esac || { echo "size: $1: the program that counts ended with status $?" >&2; exit 1; }
}

# A figure: into the JSON, and with its limit on the terminal.
put() {   # KEY VALUE LIMIT (0: none)
    printf '%s\n    "%s": %s' "$comma" "$1" "$2" >>"$json.part"
    comma=,
    verdict=''
    [ "$3" = 0 ] || verdict=$(awk -v v="$2" -v m="$3" 'BEGIN {print (v <= m ? "ok" : "MISSED") ", at most " m}')
    printf '  %-24s %8s   %s\n' "$1" "$2" "$verdict"
}

part() {   # KEY PART LIMIT FLAGS...: the flash that a part adds
    key=$1 number=$2 limit=$3
    shift 3
    link "$target" $out/program -DPART="$number" "$@"
    put "$key" $(($(flash $out/program) - empty)) "$limit"
}

instructions() {   # KEY NAME LIMIT: what the program counted
    put "$1" "$(awk -v name="$2" '$1 == name {printf "%.1f", $2 / 100}' $out/count.txt)" "$3"
}

measure() {   # TARGET ZONE-LIMIT FULL-LIMIT
    target=$1 comma=''
    case $target in rv32) tool=riscv64-unknown-elf-gcc ;; *) tool=arm-none-eabi-gcc ;; esac
    command -v $tool >/dev/null || { echo "$target: skipped, $tool is not installed"; return; }
    echo "$target"
    printf '%s\n  "%s": {' "$between" "$target" >>"$json.part"
    between=,
    count "$target"
    instructions zone_instructions zone "$2"
    instructions pair_instructions pair 0
    instructions off_instructions off_zone 8
    link "$target" $out/program -DPART=EMPTY
    empty=$(flash $out/program)
    part recorder_text RECORDER 900
    part moments_text MOMENTS 0
    part table_text TABLE 0
    part trace_text CHROME 0
    part stacks_text STACKS 0
    part full_text FULL "$3"
    printf '\n  }' >>"$json.part"
}

between=''
printf '{' >"$json.part"
measure cortex-m0 62 0
measure cortex-m3 54 20480
measure cortex-m4 54 0
measure rv32 52 0
printf '\n}\n' >>"$json.part"
mv "$json.part" "$json"
