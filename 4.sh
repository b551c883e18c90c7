clang --target=riscv32-unknown-elf -march=rv32imac -mabi=ilp32 -mcmodel=medany -mno-relax -Os -ffreestanding \
    -DPROF_STRING -nostdlib -fuse-ld=lld -ffunction-sections -fdata-sections -Wl,--gc-sections -I. \
    -Wl,-T,examples/baremetal/riscv.ld -Wl,--defsym=ram_size=0x2000 examples/baremetal/riscv_start.S \
    examples/baremetal/riscv.c examples/baremetal/prof.c examples/baremetal/control.c \
    $(riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -print-libgcc-file-name) -o control.elf
qemu-system-riscv32 -M virt -bios none -nographic -semihosting -icount shift=0 -kernel control.elf
