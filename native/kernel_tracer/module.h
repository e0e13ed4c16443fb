/* A GPU module (cubin: an ELF file for a GPU) that the driver has loaded. */
#ifndef TRIMTAB_MODULE_H
#define TRIMTAB_MODULE_H

#include <stddef.h>
#include <stdint.h>

/* Record the module's digest, its size and the names defined in its symbol table. */
void record_module(const uint8_t *cubin, size_t bytes);

#endif
