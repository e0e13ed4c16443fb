/* CRC-32 (IEEE 802.3, as in zlib and gzip), which finds damage but no forgery. */
#ifndef TRIMTAB_CRC32_H
#define TRIMTAB_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Continue the checksum `before` (0 at the start) with `bytes` at `data`. */
uint32_t crc32(uint32_t before, const uint8_t *data, size_t bytes);

#endif
