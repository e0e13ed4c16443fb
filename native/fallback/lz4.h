/* LZ4 blocks (lz4_Block_format.md of the LZ4 project). */
#ifndef TRIMTAB_LZ4_H
#define TRIMTAB_LZ4_H

#include <stddef.h>
#include <stdint.h>

/* Decompress `bytes` at `from` to at most `room` bytes; returns the length, 0 for a damaged
 * block. */
size_t lz4_block(const uint8_t *from, size_t bytes, uint8_t *to, size_t room);

#endif
