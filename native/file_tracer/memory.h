/* Allocation that ends the program, with an incomplete record, if memory is exhausted. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

void *new_zeroed(size_t count, size_t size);
char *copy_text(const char *text);

#endif
