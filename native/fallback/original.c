#define _GNU_SOURCE
#include "original.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../digest/sha256.h"
#include "../original_identity/original_identity.h"
#include "../store/which.h"
#include "events.h"
#include "give_up.h"
#include "lz4.h"
#include "open_file.h"
#include "place.h"
#include "store.h"

static struct {
  uint8_t library[32];
  uint64_t number; /* of the chunk, plus 1 */
  size_t size;
  uint8_t bytes[CHUNK_BYTES];
} chunk;

enum { LONGEST_TOLD = 256 }; /* a server takes 1,000 bytes of an encoded line */

static char chosen_store[PATH_MAX];
static char piece[3 * PATH_MAX]; /* what a server is told */
static int fetched;               /* how the last fetch ended */

void choose_store(void) {
  const char *store = getenv("TRIMTAB_STORE");
  if (store && *store) snprintf(chosen_store, sizeof chosen_store, "%s", store);
}

static enum location_kind location_of(const struct sidecar_header *header, const char **location) {
  static char beside[PATH_MAX + 16];
  enum location_kind kind = *chosen_store ? STORE_FOLDER : header->kind;
  *location = *chosen_store ? chosen_store : header->location;
  if (!**location) {
    snprintf(beside, sizeof beside, "%s/trimtab/store", environment_root);
    *location = beside;
    kind = STORE_FOLDER;
  }
  if (kind == STORE_FOLDER && !*chosen_store) *location = store_in_use(environment_root, *location);
  return is_server(*location) ? STORE_HTTP : kind;
}

static int read_file_chunk(const char *path, uint64_t number, size_t size) {
  int file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (file < 0) return 0;
  ssize_t length = pread(file, chunk.bytes, size, (off_t)(number * CHUNK_BYTES));
  close(file);
  return length == (ssize_t)size;
}

static int has_digest(const struct sidecar *sidecar, uint64_t number, size_t size) {
  uint8_t digest[SHA256_BYTES];
  sha256(chunk.bytes, size, digest);
  return !memcmp(digest, sidecar->digests + number * DIGEST_BYTES, DIGEST_BYTES);
}

void tell_of(const struct sidecar *sidecar, const struct miss *miss) {
  const char *location;
  struct miss told = *miss;
  if (location_of(sidecar->header, &location) != STORE_HTTP) return;
  if (strlen(told.name) > LONGEST_TOLD) told.name = "";
  line_of_miss(piece, sizeof piece, &told);
}

static int read_chunk(const struct sidecar *sidecar, uint64_t number, size_t size) {
  const struct sidecar_header *header = sidecar->header;
  const char *location;
  enum location_kind kind = location_of(header, &location);
  if (kind == ORIGINAL_FILE)
    return read_file_chunk(location, number, size) && has_digest(sidecar, number, size);
  if (kind == STORE_FOLDER)
    return read_stored_chunk(location, header->library_sha256, number, chunk.bytes, size) &&
           has_digest(sidecar, number, size);
  const char *cache = cache_folder();
  if (!is_own_cache(cache))
    give_up("%s, where removed code is kept that was fetched, is no folder of this user's own in which "
            "nobody else may write; remove it, or name another with TRIMTAB_STORE_CACHE", cache);
  for (int attempt = 0; attempt < 2; attempt++) {
    if (read_stored_chunk(cache, header->library_sha256, number, chunk.bytes, size) &&
        has_digest(sidecar, number, size))
      return 1;
    fetched = fetch_object(location, cache, header->library_sha256, number, piece);
    if (fetched != FETCHED) return 0;
  }
  return read_stored_chunk(cache, header->library_sha256, number, chunk.bytes, size) &&
         has_digest(sidecar, number, size);
}

static int load_chunk(const struct sidecar *sidecar, uint64_t number) {
  const struct sidecar_header *header = sidecar->header;
  if (chunk.number == number + 1 && !memcmp(chunk.library, header->library_sha256, 32)) return 1;
  if (number >= header->chunks) return 0;
  uint64_t left = header->library_bytes - number * CHUNK_BYTES;
  chunk.number = 0;
  chunk.size = left < CHUNK_BYTES ? left : CHUNK_BYTES;
  if (!read_chunk(sidecar, number, chunk.size)) return 0;
  chunk.number = number + 1;
  memcpy(chunk.library, header->library_sha256, 32);
  return 1;
}

/* Copy the bytes at `offset` that are in one chunk; returns 0 if it is not available. */
static size_t copy_part(const struct sidecar *sidecar, uint64_t offset, uint8_t *to, size_t bytes) {
  if (!load_chunk(sidecar, offset / CHUNK_BYTES)) return 0;
  size_t begin = offset % CHUNK_BYTES;
  if (begin >= chunk.size) return 0;
  size_t part = chunk.size - begin < bytes ? chunk.size - begin : bytes;
  memcpy(to, chunk.bytes + begin, part);
  return part;
}

void read_original(const struct sidecar *sidecar, const char *library, uint64_t offset, uint8_t *to,
                   size_t bytes) {
  while (bytes) {
    size_t part = copy_part(sidecar, offset, to, bytes);
    if (!part) {
      const char *location;
      enum location_kind kind = location_of(sidecar->header, &location);
      const char *problem = kind == ORIGINAL_FILE ? original_problem(environment_root) : NULL;
      if (problem)
        give_up("%s needs code that was removed, as no profiled run used it, and which cannot come back: %s",
                library, problem);
      give_up("%s needs code that was removed, as no profiled run used it%s", library,
              no_piece(environment_root, location, kind != ORIGINAL_FILE && !*chosen_store, fetched));
    }
    offset += part;
    to += part;
    bytes -= part;
  }
}

void read_name(const struct sidecar *sidecar, uint64_t offset, char *name, size_t name_bytes) {
  const char *location;
  size_t have = 0;
  *name = 0;
  if (location_of(sidecar->header, &location) == STORE_HTTP) return;
  while (have < name_bytes - 1) {
    size_t part = copy_part(sidecar, offset + have, (uint8_t *)name + have, name_bytes - 1 - have);
    name[have + part] = 0;
    if (!part || memchr(name + have, 0, part)) return;
    have += part;
  }
}
