/* Addresses in /proc/self/maps. */
#ifndef TRIMTAB_SNAPSHOT_HEXADECIMAL_H
#define TRIMTAB_SNAPSHOT_HEXADECIMAL_H

#include <stdint.h>

/* The number at the beginning of a text, which then begins after it. */
static inline uint64_t hexadecimal(const char **text) {
  uint64_t number = 0;
  for (;; (*text)++) {
    char c = **text;
    if (c >= '0' && c <= '9') number = number << 4 | (uint64_t)(c - '0');
    else if (c >= 'a' && c <= 'f') number = number << 4 | (uint64_t)(c - 'a' + 10);
    else return number;
  }
}

#endif
