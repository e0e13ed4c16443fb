#include "flat_name.h"

#include <string.h>

#include "../digest/sha256.h"

enum { READABLE_BYTES = 64, DIGITS = 32 };

/* Whether replacing each `__`, from the left, by `/` gives the path again. */
static int is_reversible(const char *path) {
  for (const char *at = path; *at; at++) {
    /* A `/` becomes `__` here; a reader would find one an underscore earlier. */
    if (at[0] == '_' && (at[1] == '_' || at[1] == '/')) return 0;
  }
  return 1;
}

static int is_plain(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || (letter && strchr("._+-", letter));
}

void flat_name(const char *path, char flat[FLAT_NAME_BYTES]) {
  size_t length = strlen(path), flat_length = length;
  for (const char *at = path; *at; at++) flat_length += *at == '/';
  if (flat_length < FLAT_NAME_BYTES && is_reversible(path)) {
    for (; *path; path++) {
      if (*path == '/') *flat++ = '_';
      *flat++ = *path == '/' ? '_' : *path;
    }
    *flat = 0;
    return;
  }
  char digest[SHA256_TEXT_BYTES];
  sha256_text((const uint8_t *)path, length, digest);
  if (length > READABLE_BYTES) path += length - READABLE_BYTES;
  for (; *path; path++) *flat++ = is_plain(*path) ? *path : '_';
  memcpy(flat, "____", 4);
  memcpy(flat + 4, digest, DIGITS);
  flat[4 + DIGITS] = 0;
}
