#include "contents.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>

#include "../digest/sha256.h"
#include "../fallback/lz4.h"
#include "../original_identity/original_identity.h"
#include "../store/which.h"
#include "bring_back.h"
#include "byte_code.h"
#include "fetch.h"
#include "place.h"
#include "record.h"

#define OBJECT_MAGIC "TRIMTABO" /* ../fallback/store.h */
enum { CHUNK_BYTES = 16384, OBJECT_CHUNKS = 64, PART_BYTES = 1 << 18, MISSING = GONE, PIECE_BYTES = 5 * PATH_BYTES };
enum { OBJECT_BYTES = CHUNK_BYTES * OBJECT_CHUNKS };

struct object {
  char magic[8];
  uint32_t offsets[OBJECT_CHUNKS + 1];
  uint8_t blocks[OBJECT_BYTES];
};

/* A new file, and the digest of the bytes written so far. */
struct copy {
  long file;
  struct sha256 sum;
  uint8_t part[PART_BYTES];
  struct object object;
  char path[PATH_BYTES], address[PATH_BYTES], piece[PIECE_BYTES];
  int fetched; /* how the last fetch ended */
};

/* Digest written bytes while they are in the processor's cache. */
static long write_all(struct copy *copy, const uint8_t *bytes, size_t count) {
  sha256_add(&copy->sum, bytes, count);
  while (count) {
    long written = KERNEL(__NR_write, copy->file, bytes, count, 0);
    if (written <= 0) return written ? written : -EIO;
    bytes += written;
    count -= (size_t)written;
  }
  return 0;
}

/* The stand-in may have grown meanwhile: check that the file is no longer than written. */
static int has_digest(const struct entry *entry, struct copy *copy) {
  uint8_t digest[SHA256_BYTES];
  struct status status;
  if (KERNEL(__NR_fstat, copy->file, &status, 0, 0) || (uint64_t)status.bytes != entry->bytes) return 0;
  sha256_end(&copy->sum, digest);
  return !memcmp(digest, entry->digest, DIGEST_BYTES);
}

static int object_path(char to[PATH_BYTES], const char *root, const struct entry *entry,
                       uint64_t number) {
  struct text text = text_in(to, PATH_BYTES);
  size_t length = strlen(root);
  while (length && root[length - 1] == '/') length--;
  put_part(&text, root, length);
  put(&text, "/");
  put_hexadecimal(&text, entry->digest, 1);
  put(&text, "/");
  put_hexadecimal(&text, entry->digest, DIGEST_BYTES);
  put(&text, "-");
  put_number(&text, number, 6);
  return text.whole;
}

/* Read an object; returns its length, 0 if there is none. */
static size_t read_object(struct copy *copy) {
  long file = open_path(AT_FDCWD, copy->path, O_RDONLY | O_NONBLOCK, 0), got = 0;
  if (file < 0) return 0;
  size_t bytes = 0;
  do got = KERNEL(__NR_read, file, (uint8_t *)&copy->object + bytes, sizeof copy->object - bytes, 0);
  while (got > 0 && (bytes += (size_t)got) < sizeof copy->object);
  close_file(file);
  int whole = got >= 0 && bytes >= offsetof(struct object, blocks);
  return whole && !memcmp(copy->object.magic, OBJECT_MAGIC, sizeof copy->object.magic) ? bytes : 0;
}

/* Decompress a chunk of the object, of which `have` bytes were read; 0 if it is damaged. */
static int unpack(const struct object *object, size_t have, uint64_t number, uint8_t *to, size_t bytes) {
  const uint32_t *range = object->offsets + number;
  if (range[1] <= range[0] || range[0] < offsetof(struct object, blocks) || range[1] > have) return 0;
  const uint8_t *block = (const uint8_t *)object + range[0];
  size_t stored = range[1] - range[0];
  if (stored == bytes) memcpy(to, block, bytes);
  return stored == bytes || (stored <= CHUNK_BYTES && lz4_block(block, stored, to, bytes) == bytes);
}

/* Write the part of the file in one object, several chunks at once. */
static long write_object(struct copy *copy, const struct entry *entry, uint64_t number) {
  uint64_t left = entry->bytes - number * OBJECT_BYTES;
  if (left > OBJECT_BYTES) left = OBJECT_BYTES;
  size_t have = read_object(copy), filled = 0;
  if (!have) return MISSING;
  for (uint64_t chunk = 0; left; chunk++) {
    size_t bytes = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
    if (!unpack(&copy->object, have, chunk, copy->part + filled, bytes)) return MISSING;
    filled += bytes;
    left -= bytes;
    if (left && filled < PART_BYTES) continue;
    long error = write_all(copy, copy->part, filled);
    if (error) return error;
    filled = 0;
  }
  return 0;
}

static uint64_t objects_of(const struct entry *entry) { return (entry->bytes + OBJECT_BYTES - 1) / OBJECT_BYTES; }

static int fetch_object(struct copy *copy, const struct entry *entry, const char *server, uint64_t number) {
  if (!object_path(copy->address, server, entry, number)) return 0;
  copy->fetched = fetch(copy->address, copy->path, copy->piece);
  return copy->fetched == FETCHED;
}

/* Write the whole file from a folder of objects. With a `server`, those that are missing there are
 * fetched. */
static long write_objects(struct copy *copy, const struct entry *entry, const char *folder, const char *server) {
  sha256_begin(&copy->sum);
  KERNEL(__NR_lseek, copy->file, 0, SEEK_SET, 0);
  for (uint64_t number = 0; number < objects_of(entry); number++) {
    if (!object_path(copy->path, folder, entry, number) ||
        (server && !fetch_object(copy, entry, server, number)))
      return MISSING;
    long error = write_object(copy, entry, number);
    if (error) return error;
  }
  return has_digest(entry, copy) ? 0 : MISSING;
}

/* What is wrong is dropped from the cache, and fetched once more: the server may be right now. */
static long write_from_server(struct copy *copy, const struct entry *entry, const char *server) {
  const char *cache = cache_folder();
  if (!is_own_cache(cache))
    give_up(cache, ", where removed files are kept that were fetched, is no folder of this user's own in "
            "which nobody else may write; remove it, or name another with TRIMTAB_STORE_CACHE", "", "", "");
  struct text piece = text_in(copy->piece, sizeof copy->piece);
  put_miss(&piece, entry->path, entry->kind);
  long error = MISSING;
  for (int attempt = 0; attempt < 2 && error == MISSING && copy->fetched == FETCHED; attempt++) {
    error = write_objects(copy, entry, cache, server);
    if (error != MISSING || copy->fetched != FETCHED) continue;
    for (uint64_t number = 0; number < objects_of(entry); number++)
      if (object_path(copy->path, cache, entry, number)) KERNEL(__NR_unlink, copy->path, 0, 0, 0);
  }
  return error;
}

static long write_from_original(struct copy *copy, const struct entry *entry, const char *folder) {
  struct text text = text_in(copy->path, PATH_BYTES);
  put(&text, folder);
  put(&text, "/");
  put(&text, entry->path);
  long original = text.whole ? open_path(AT_FDCWD, copy->path, O_RDONLY | O_NONBLOCK, 0) : -1;
  long error = original < 0 ? MISSING : 0;
  sha256_begin(&copy->sum);
  for (uint64_t left = entry->bytes; !error && left;) {
    long got = KERNEL(__NR_read, original, copy->part, left < PART_BYTES ? left : PART_BYTES, 0);
    error = got > 0 ? write_all(copy, copy->part, (size_t)got) : MISSING;
    left -= got > 0 ? (uint64_t)got : 0;
  }
  if (original >= 0) close_file(original);
  return error || has_digest(entry, copy) ? error : MISSING;
}

void look_at_original(char **variables) {
  if (!*chosen_store && index_header()->kind == ORIGINAL_FOLDER && !variable(variables, TOLD_VARIABLE))
    check_original(environment_root);
}

__attribute__((noreturn)) static void cannot_come_back(const struct entry *entry, const char *location,
                                                       int of_original, int fetched) {
  const char *problem = of_original ? original_problem(environment_root) : NULL;
  if (problem)
    give_up(entry->path, ": was removed, as no profiled run used it, and cannot come back: ", problem, "", "");
  give_up(entry->path, ": was removed, as no profiled run used it",
          no_piece(environment_root, location, !of_original && !*chosen_store, fetched), "", "");
}

long write_contents(const struct entry *entry, long file, const char *partial) {
  static char beside[PATH_BYTES];
  const char *location = *chosen_store ? chosen_store : index_header()->location;
  int of_original = !*chosen_store && index_header()->kind == ORIGINAL_FOLDER;
  struct copy *copy = new_memory(sizeof *copy);
  if (!copy) return -ENOMEM;
  copy->file = file;
  if (!*location) {
    path_of(beside, 0, "trimtab/store");
    location = beside;
  }
  if (!of_original && !*chosen_store) location = store_in_use(environment_root, location);
  long error = of_original           ? write_from_original(copy, entry, location)
               : is_server(location) ? write_from_server(copy, entry, location)
                                     : write_objects(copy, entry, location, NULL);
  int fetched = copy->fetched;
  drop_memory(copy, sizeof *copy);
  if (error) KERNEL(__NR_unlink, partial, 0, 0, 0);
  if (error != MISSING) return error;
  if (of_original && is_byte_code(entry)) return GONE;
  if (!of_original && has_byte_code(entry)) return UNREADABLE;
  cannot_come_back(entry, location, of_original, fetched);
}
