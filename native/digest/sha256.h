/* SHA-256 (FIPS 180-4), which names a GPU module by its bytes and proves what a store gives. */
#ifndef TRIMTAB_SHA256_H
#define TRIMTAB_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_TEXT_BYTES = 65 };

void sha256(const uint8_t *data, size_t bytes, uint8_t digest[SHA256_BYTES]);

/* The digest of `bytes` at `data` in hexadecimal, with its terminating zero. */
void sha256_text(const uint8_t *data, size_t bytes, char text[SHA256_TEXT_BYTES]);

#endif
