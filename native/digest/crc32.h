/* CRC-32 (IEEE 802.3, as zlib and gzip have it), which finds damage and proves nothing against forgers. */
#ifndef TRIMTAB_CRC32_H
#define TRIMTAB_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Of what has the checksum `before` (0 of nothing) and then `bytes` at `data`. */
uint32_t crc32(uint32_t before, const uint8_t *data, size_t bytes);

#endif
