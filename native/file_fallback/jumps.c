#include "jumps.h"

#include <emmintrin.h>

enum { NEAR = 256, STEP = 16, READ_BYTES = STEP + 3 };

/* A bit for each of the 16 bytes from `at` on that may be the operand of a jump to `target`: one
 * byte of distance, or four. */
static unsigned distances_in(const uint8_t *at, const uint8_t *target) {
  const __m128i counted = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  int64_t left = target - at;
  __m128i bytes = _mm_loadu_si128((const __m128i *)at);
  __m128i short_ones = _mm_sub_epi8(_mm_set1_epi8((char)(left - 1)), counted);
  unsigned found = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, short_ones));
  for (int i = 0; i < 4; i++) {
    int32_t far = (int32_t)left - 4 - i;
    __m128i numbers = _mm_loadu_si128((const __m128i *)(at + i));
    __m128i same = _mm_cmpeq_epi32(numbers, _mm_setr_epi32(far, far - 4, far - 8, far - 12));
    unsigned lanes = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(same));
    for (; lanes; lanes &= lanes - 1) found |= 1u << (i + 4 * __builtin_ctz(lanes));
  }
  return found;
}

static int is_jump(const uint8_t *operand, const uint8_t *target) {
  int32_t distance;
  __builtin_memcpy(&distance, operand, sizeof distance);
  if (operand + 1 + (int8_t)*operand == target && (operand[-1] == 0xeb || (operand[-1] & 0xf0) == 0x70)) return 1;
  return operand + 4 + distance == target &&
         (operand[-1] == 0xe9 || (operand[-2] == 0x0f && (operand[-1] & 0xf0) == 0x80));
}

int is_jumped_to(const uint8_t *target, const uint8_t *begin, const uint8_t *end) {
  const uint8_t *at = target - begin > NEAR ? target - NEAR : begin + 2;
  const uint8_t *last = end - READ_BYTES; /* the last 16 operands before the end */
  if (last > target + NEAR) last = target + NEAR;
  for (;; at += STEP) {
    if (at > last) at = last; /* some a second time */
    for (unsigned found = distances_in(at, target); found; found &= found - 1)
      if (is_jump(at + __builtin_ctz(found), target)) return 1;
    if (at == last) return 0;
  }
}
