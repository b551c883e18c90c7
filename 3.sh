clang --target=thumbv7m-none-eabi -mcpu=cortex-m3 -Os -ffreestanding -DPROF_STRING -nostdlib -fuse-ld=lld \
    -ffunction-sections -fdata-sections -Wl,--gc-sections -I. \
    -Wl,-T,examples/baremetal/cortexm.ld -Wl,--defsym=ram_size=0x8000 examples/baremetal/cortexm.c \
    examples/baremetal/prof.c examples/baremetal/control.c \
    $(arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb -print-libgcc-file-name) -o control.elf
qemu-system-arm -M mps2-an385 -nographic -semihosting -icount shift=0 -kernel control.elf
