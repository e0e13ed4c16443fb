/* SHA-256 (FIPS 180-4), which identifies a GPU module by its bytes and verifies the data of a
 * store. */
#ifndef TRIMTAB_SHA256_H
#define TRIMTAB_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_TEXT_BYTES = 65 };

/* A digest of bytes that come in parts. */
struct sha256 {
  uint32_t state[8];
  uint64_t bytes;
  uint8_t rest[64]; /* of an incomplete block */
};
void sha256_begin(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const uint8_t *data, size_t bytes);
void sha256_end(struct sha256 *sum, uint8_t digest[SHA256_BYTES]);

void sha256(const uint8_t *data, size_t bytes, uint8_t digest[SHA256_BYTES]);

/* The digest of `bytes` at `data` in hexadecimal, with its terminating zero. */
void sha256_text(const uint8_t *data, size_t bytes, char text[SHA256_TEXT_BYTES]);

#endif
