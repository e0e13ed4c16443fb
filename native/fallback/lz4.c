#include "lz4.h"

/* A length of 15 continues in further bytes; returns 0 if they end too early. */
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

enum { WORD_BYTES = 8 };

/* Copy a word at a time; a word may read bytes that the previous one wrote: `to` is at least a word
 * after `from`, or before it. With `spare` bytes on both sides the last word is also whole; excess
 * bytes are overwritten later. Most pieces are too short for a call of memcpy(3). */
static void copy(uint8_t *to, const uint8_t *from, size_t bytes, int spare) {
  uint64_t word;
  size_t done = 0, whole = spare ? bytes : bytes - bytes % WORD_BYTES;
  for (; done < whole; done += WORD_BYTES) {
    __builtin_memcpy(&word, from + done, WORD_BYTES);
    __builtin_memcpy(to + done, &word, WORD_BYTES);
  }
  for (; done < bytes; done++) to[done] = from[done];
}

/* Copy the bytes `distance` before `to`, which may overlap the written ones. */
static void repeat(uint8_t *to, size_t distance, size_t bytes, int spare) {
  if (distance < WORD_BYTES) { /* after one word, it also repeats at a multiple of the distance */
    size_t first = bytes < WORD_BYTES ? bytes : WORD_BYTES;
    for (size_t i = 0; i < first; i++) to[i] = *(to + i - distance);
    to += first;
    bytes -= first;
    distance *= (WORD_BYTES + distance - 1) / distance;
  }
  copy(to, to - distance, bytes, spare);
}

size_t lz4_block(const uint8_t *from, size_t bytes, uint8_t *to, size_t room) {
  const uint8_t *at = from, *end = from + bytes;
  uint8_t *out = to, *limit = to + room;
  while (at < end) {
    uint8_t token = *at++;
    size_t literals = token >> 4, match = token & 15;
    if (!read_length(&at, end, &literals)) return 0;
    if (literals > (size_t)(end - at) || literals > (size_t)(limit - out)) return 0;
    int spare = literals + WORD_BYTES <= (size_t)(end - at) && literals + WORD_BYTES <= (size_t)(limit - out);
    copy(out, at, literals, spare);
    at += literals;
    out += literals;
    if (at == end) return (size_t)(out - to); /* the last sequence has no match */
    if (end - at < 2) return 0;
    size_t distance = at[0] | (size_t)at[1] << 8;
    at += 2;
    if (!read_length(&at, end, &match)) return 0;
    match += 4;
    if (!distance || distance > (size_t)(out - to) || match > (size_t)(limit - out)) return 0;
    repeat(out, distance, match, match + WORD_BYTES <= (size_t)(limit - out));
    out += match;
  }
  return 0;
}
