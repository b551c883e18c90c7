# Start-up of a RISC-V hart in machine mode: stack, .bss, the trap vector, main.
    .section .text.start, "ax"
    .globl _start
_start:
    csrr t0, mhartid
    bnez t0, park
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, stack_top
    la t0, trap
    csrw mtvec, t0
    la t0, bss_start
    la t1, bss_end
clear:
    bgeu t0, t1, run
    sb zero, 0(t0)
    addi t0, t0, 1
    j clear
run:
    call board_start
park:
    wfi
    j park

# Every trap: the machine timer's interrupt goes on to riscv_timer, anything else ends the program.
#if __riscv_xlen == 64
#  define STORE sd
#  define LOAD ld
#  define WORD 8
#else
#  define STORE sw
#  define LOAD lw
#  define WORD 4
#endif
    .align 2
trap:
    addi sp, sp, -16 * WORD
    STORE ra, 0 * WORD(sp)
    STORE t0, 1 * WORD(sp)
    STORE t1, 2 * WORD(sp)
    STORE t2, 3 * WORD(sp)
    STORE a0, 4 * WORD(sp)
    STORE a1, 5 * WORD(sp)
    STORE a2, 6 * WORD(sp)
    STORE a3, 7 * WORD(sp)
    STORE a4, 8 * WORD(sp)
    STORE a5, 9 * WORD(sp)
    STORE a6, 10 * WORD(sp)
    STORE a7, 11 * WORD(sp)
    STORE t3, 12 * WORD(sp)
    STORE t4, 13 * WORD(sp)
    STORE t5, 14 * WORD(sp)
    STORE t6, 15 * WORD(sp)
    csrr a0, mcause
    call riscv_trap
    LOAD ra, 0 * WORD(sp)
    LOAD t0, 1 * WORD(sp)
    LOAD t1, 2 * WORD(sp)
    LOAD t2, 3 * WORD(sp)
    LOAD a0, 4 * WORD(sp)
    LOAD a1, 5 * WORD(sp)
    LOAD a2, 6 * WORD(sp)
    LOAD a3, 7 * WORD(sp)
    LOAD a4, 8 * WORD(sp)
    LOAD a5, 9 * WORD(sp)
    LOAD a6, 10 * WORD(sp)
    LOAD a7, 11 * WORD(sp)
    LOAD t3, 12 * WORD(sp)
    LOAD t4, 13 * WORD(sp)
    LOAD t5, 14 * WORD(sp)
    LOAD t6, 15 * WORD(sp)
    addi sp, sp, 16 * WORD
    mret

# A semihosting call is exactly these three instructions, in one page.
    .section .text.semihost, "ax"
    .globl semihost
    .option push
    .option norvc
    .option norelax
    .align 4
semihost:
    slli x0, x0, 0x1f
    ebreak
    srai x0, x0, 7
    .option pop
    ret
