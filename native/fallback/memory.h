/* The program's code in memory. */
#ifndef TRIMTAB_MEMORY_H
#define TRIMTAB_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { TRAP = 0xcc, PAGE_BYTES = 4096 };

int is_readable(const uint8_t *address);

/* Whether the function's original bytes are at `code`. */
int is_back(const uint8_t *code, const uint8_t *original, size_t size);

/* Put the function's original bytes at `code`, while other threads run. */
void write_code(volatile uint8_t *code, const uint8_t *original, size_t size);

#endif
