#include "which.h"

#include <asm/unistd_64.h>

#include "../kernel_call/kernel_call.h"

enum { WORDS_BYTES = 3 * 4096 };

/* Append a text, truncated if it does not fit. */
static char *put(char *at, const char *end, const char *text) {
  while (*text && at < end) *at++ = *text++;
  *at = 0;
  return at;
}

static int begins_with(const char *text, const char *start) {
  for (; *start && *text == *start; text++, start++) continue;
  return !*start;
}

static int is_there(const char *path) { return !kernel(__NR_access, (long)path, 0, 0, 0, 0, 0); }

static int has_registry(const char *environment) {
  char path[4096 + 32];
  const char *end = path + sizeof path - 1;
  put(put(path, end, environment), end, "/" REGISTRY_FILE);
  return is_there(path);
}

int is_server(const char *store) { return begins_with(store, "http://") || begins_with(store, "unix:"); }

const char *store_in_use(const char *environment, const char *folder) {
  const char *socket = COLD_STORE + sizeof "unix:" - 1;
  return is_server(folder) || is_there(folder) || !has_registry(environment) || !is_there(socket) ? folder
                                                                                                : COLD_STORE;
}

static const char *why_not(int status) {
  switch (status) {
    case FETCHED: return " could not give it: what it sent is not the original's";
    case NO_SERVER: return " cannot be reached; run `trimtab cold-store serve` on this node";
    case NOT_NAMED: return " could not give it: the image's index does not name it";
    case REFUSED: return " could not give it: it refused the image's repository or the request; its log says why";
    case FAILED: return " could not give it: it sent no whole answer; its log says why";
    default: return " was not asked: trimtab-fetch did not run to its end, or the cache cannot be written";
  }
}

const char *no_piece(const char *environment, const char *store, int is_recorded, int status) {
  static char words[WORDS_BYTES];
  char *at = words;
  const char *end = words + sizeof words - 1;
  int has_index = has_registry(environment);
  if (is_server(store) && (has_index || begins_with(store, "unix:"))) {
    at = put(put(at, end, "; the cold store at "), end, store);
    put(at, end, why_not(status));
  } else if (is_recorded && !is_server(store) && (has_index || !*environment) && !is_there(store)) {
    at = put(at, end, "; to bring it back, ");
    if (has_index)
      at = put(at, end, "run `trimtab cold-store serve` on this node and start the container with docker run "
                        "--volume /run/trimtab:/run/trimtab, or ");
    at = put(at, end, "mount the folder `store` that is beside the slim image: docker run --volume STORE:");
    put(put(at, end, store), end, ":ro");
  } else {
    at = put(put(at, end, ", and "), end, store);
    put(at, end, ", which should still have it, was changed, is gone or cannot be reached; put it back, name "
                 "another store with TRIMTAB_STORE, or profile the workload with what it does now and debloat "
                 "again");
  }
  return words;
}
