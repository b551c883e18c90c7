/* The board as a program of an operating system: the UART is stdout. */
#include <stdio.h>

#include "board.h"

static FILE *file;

bool board_uart(void *user, const void *data, size_t size) {
    (void)user;
    return fwrite(data, 1, size, stdout) == size;
}

bool board_file_open(const char *name) { return (file = fopen(name, "wb")) != NULL; }

bool board_file(void *user, const void *data, size_t size) {
    (void)user;
    return fwrite(data, 1, size, file) == size;
}

bool board_file_close(void) { return fclose(file) == 0; }

void board_timer(uint32_t ticks) { (void)ticks; }
