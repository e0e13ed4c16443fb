#include "crc32.h"

#include <cpuid.h>
#include <immintrin.h>

enum { LANES = 4, LANE_BYTES = 16, FOLDED_BYTES = LANES * LANE_BYTES };

/* Four bits a step: the remainders of the polynomial 0xedb88320, its lowest power highest. */
static uint32_t add_bytes(uint32_t state, const uint8_t *data, size_t bytes) {
  static const uint32_t remainders[16] = {
      0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
      0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  for (const uint8_t *end = data + bytes; data < end; data++) {
    state ^= *data;
    state = state >> 4 ^ remainders[state & 15];
    state = state >> 4 ^ remainders[state & 15];
  }
  return state;
}

/* Move a lane over the bytes between it and `next`, and add it to `next`: `distance` has the
 * remainders of the powers for its two halves. */
__attribute__((target("pclmul,sse4.1"))) static __m128i folded(__m128i lane, __m128i distance,
                                                               __m128i next) {
  __m128i low = _mm_clmulepi64_si128(lane, distance, 0x00);
  __m128i high = _mm_clmulepi64_si128(lane, distance, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* The same by carry-less multiplication ("Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ Instruction", Intel 2009), for a multiple of 16 bytes, at least 64: thirty times as
 * fast. The remaining 16 bytes have the same remainder. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t add_in_hardware(uint32_t state,
                                                                         const uint8_t *data,
                                                                         size_t bytes) {
  const __m128i by_four_lanes = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by_one_lane = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  const uint8_t *end = data + bytes;
  const __m128i *from = (const __m128i *)data;
  __m128i lanes[LANES];
  for (int i = 0; i < LANES; i++) lanes[i] = _mm_loadu_si128(from++);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128((int)state));
  for (; end - (const uint8_t *)from >= FOLDED_BYTES; from += LANES)
    for (int i = 0; i < LANES; i++)
      lanes[i] = folded(lanes[i], by_four_lanes, _mm_loadu_si128(from + i));
  for (int i = 1; i < LANES; i++) lanes[0] = folded(lanes[0], by_one_lane, lanes[i]);
  for (; (const uint8_t *)from < end; from++)
    lanes[0] = folded(lanes[0], by_one_lane, _mm_loadu_si128(from));
  uint8_t rest[LANE_BYTES];
  _mm_storeu_si128((__m128i *)rest, lanes[0]);
  return add_bytes(0, rest, sizeof rest);
}

/* Asked once, as hypervisors emulate this instruction, in microseconds. */
static int has_instructions(void) {
  static int known = -1;
  unsigned int a, b, c, d;
  if (known < 0)
    known = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_PCLMUL) && (c & bit_SSE4_1);
  return known;
}

uint32_t crc32(uint32_t before, const uint8_t *data, size_t bytes) {
  uint32_t state = ~before;
  size_t folded_bytes = bytes - bytes % LANE_BYTES;
  if (bytes >= FOLDED_BYTES && has_instructions()) {
    state = add_in_hardware(state, data, folded_bytes);
    data += folded_bytes;
    bytes -= folded_bytes;
  }
  return ~add_bytes(state, data, bytes);
}
