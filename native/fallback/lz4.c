#include "lz4.h"

#include <string.h>

/* A length of 15 goes on in further bytes; 0 when they end too early. */
static int read_length(const uint8_t **at, const uint8_t *end, size_t *length) {
  if (*length < 15) return 1;
  uint8_t byte;
  do {
    if (*at == end) return 0;
    byte = *(*at)++;
    *length += byte;
  } while (byte == 255);
  return 1;
}

size_t lz4_block(const uint8_t *from, size_t bytes, uint8_t *to, size_t room) {
  const uint8_t *at = from, *end = from + bytes;
  uint8_t *out = to, *limit = to + room;
  while (at < end) {
    uint8_t token = *at++;
    size_t literals = token >> 4, match = token & 15;
    if (!read_length(&at, end, &literals)) return 0;
    if (literals > (size_t)(end - at) || literals > (size_t)(limit - out)) return 0;
    memcpy(out, at, literals);
    at += literals;
    out += literals;
    if (at == end) return (size_t)(out - to); /* the last sequence has no match */
    if (end - at < 2) return 0;
    size_t distance = at[0] | (size_t)at[1] << 8;
    at += 2;
    if (!read_length(&at, end, &match)) return 0;
    match += 4;
    if (!distance || distance > (size_t)(out - to) || match > (size_t)(limit - out)) return 0;
    for (; match; match--, out++) *out = out[-(ptrdiff_t)distance]; /* it may overlap itself */
  }
  return 0;
}
