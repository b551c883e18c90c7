#!/bin/sh
# Makes the pictures of README.md and the examples in headless Chromium, of programs of this repository:
#   train.png     the page of prof report: timeline and table of two batches of examples/train.c
#   images.png    the flame graph of examples/images.c, which makes a thumbnail of train.png
#   control.png   the page of examples/baremetal/control.c on a Cortex-M3 in QEMU
# `make pictures` runs it. What is not installed is named, and its picture stays as it is.
set -u
cd "$(dirname "$0")/../.." || exit 1

out=$PWD/build/pictures
to=$PWD/examples/pictures
most=120000                              # bytes of a picture
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
[ -n "$chromium" ] || { echo 'pictures: skipped, Chromium is not installed'; exit 0; }
command -v node >/dev/null || { echo 'pictures: skipped, node is not installed'; exit 0; }
mkdir -p "$out" "$to"
failed=0

fail() { echo "pictures: $1: $2" >&2; failed=1; }

picture() {   # NAME TRACE: of the page of a trace
    build/prof report --format html -o "$out/$1.html" "$2" || { fail "$1" 'no page'; return; }
    node tools/dev/pictures.mjs "$chromium" "$out/browser" "$1" "$out/$1.html" "$to/$1.png" ||
        { fail "$1" 'no picture'; return; }
    size=$(wc -c <"$to/$1.png")
    if [ "$size" -le $most ]; then echo "pictures: examples/pictures/$1.png, $size bytes"
    else fail "$1" "$size bytes, more than $most"; fi
}

build/examples/train "$out" >"$out/said" 2>&1 || fail train 'does not run'
picture train "$out/trace.json"

if [ -x build/examples/images ]; then
    build/examples/images "$out" "$to/train.png" >"$out/said" 2>&1 || fail images 'does not run'
    picture images "$out/trace.json"
else echo 'pictures: images.png is left as it is: stb (libstb-dev) is not installed'
fi

# QEMU's clock: an instruction takes 32 ns, about a cycle of the board's 25 MHz.
board=examples/baremetal
if ! command -v arm-none-eabi-gcc >/dev/null || ! command -v qemu-system-arm >/dev/null; then
    echo 'pictures: control.png is left as it is: arm-none-eabi-gcc or qemu-system-arm is not installed'
elif arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -Os -ffreestanding -nostdlib -ffunction-sections \
    -fdata-sections -Wl,--gc-sections -DPROF_ARENA_SIZE=16384 -I. -T $board/cortexm.ld \
    -Wl,--defsym=ram_size=0x8000 $board/cortexm.c $board/string.c $board/prof.c $board/control.c \
    -lgcc -o "$out/control.elf"
then
    (cd "$out" && timeout 100 qemu-system-arm -M mps2-an385 -nographic -semihosting -icount shift=5 \
        -kernel control.elf >said 2>&1) || fail control 'does not run'
    picture control "$out/trace.raw"
else fail control 'does not compile'
fi
exit $failed
