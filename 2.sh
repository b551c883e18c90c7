riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 -misa-spec=2.2 -mcmodel=medany -Os -ffreestanding \
    -DPROF_STRING -nostdlib -ffunction-sections -fdata-sections -Wl,--gc-sections -I. \
    -T examples/baremetal/riscv.ld -Wl,--defsym=ram_size=0x2000 examples/baremetal/riscv_start.S \
    examples/baremetal/riscv.c examples/baremetal/prof.c examples/baremetal/control.c -lgcc -o control.elf
qemu-system-riscv32 -M virt -bios none -nographic -semihosting -icount shift=0 -kernel control.elf
