#include "contents.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "../digest/sha256.h"
#include "../fallback/lz4.h"
#include "fetch.h"
#include "place.h"

#define OBJECT_MAGIC "TRIMTABO"
enum { CHUNK_BYTES = 16384, OBJECT_CHUNKS = 64, PART_BYTES = 1 << 18, UNTIL_EXTERNAL = -4096, MISSING = -ENODATA };

struct buffers {
  uint8_t part[PART_BYTES];
  uint8_t chunk[CHUNK_BYTES], block[CHUNK_BYTES];
  char path[PATH_BYTES], address[PATH_BYTES];
};

static long write_all(long file, const uint8_t *bytes, size_t count) {
  while (count) {
    long written = KERNEL(__NR_write, file, bytes, count, 0);
    if (written <= 0) return written ? written : -EIO;
    bytes += written;
    count -= (size_t)written;
  }
  return 0;
}

static int object_path(char to[PATH_BYTES], const char *root, const struct entry *entry,
                       uint64_t number) {
  struct text text = text_in(to, PATH_BYTES);
  put(&text, root);
  put(&text, "/");
  put_hexadecimal(&text, entry->sha256, 1);
  put(&text, "/");
  put_hexadecimal(&text, entry->sha256, DIGEST_BYTES);
  put(&text, "/");
  put_number(&text, number, 6);
  return text.whole;
}

/* Read a chunk of an open object into `chunk`; 0 when it is damaged. */
static int read_chunk(struct buffers *buffers, long object, uint64_t number, size_t bytes) {
  char magic[8];
  uint32_t range[2];
  long at = (long)(sizeof magic + number % OBJECT_CHUNKS * sizeof *range);
  if (KERNEL(__NR_pread64, object, magic, sizeof magic, 0) != sizeof magic ||
      memcmp(magic, OBJECT_MAGIC, sizeof magic) ||
      KERNEL(__NR_pread64, object, range, sizeof range, at) != sizeof range ||
      range[1] <= range[0] || range[1] - range[0] > CHUNK_BYTES)
    return 0;
  size_t stored = range[1] - range[0];
  uint8_t *to = stored == bytes ? buffers->chunk : buffers->block;
  if (KERNEL(__NR_pread64, object, to, stored, range[0]) != (long)stored) return 0;
  return stored == bytes || lz4_block(buffers->block, stored, buffers->chunk, bytes) == bytes;
}

/* Write the part of the file that one object holds. */
static long write_object(struct buffers *buffers, const struct entry *entry, uint64_t number, long file) {
  enum { OBJECT_BYTES = CHUNK_BYTES * OBJECT_CHUNKS };
  uint64_t left = entry->bytes - number * OBJECT_BYTES, chunk = number * OBJECT_CHUNKS;
  if (left > OBJECT_BYTES) left = OBJECT_BYTES;
  long object = open_path(AT_FDCWD, buffers->path, O_RDONLY | O_NONBLOCK, 0), error = object < 0 ? MISSING : 0;
  for (; !error && left; chunk++) {
    size_t bytes = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
    error = read_chunk(buffers, object, chunk, bytes) ? write_all(file, buffers->chunk, bytes) : MISSING;
    left -= bytes;
  }
  if (object >= 0) close_file(object);
  return error;
}

static long write_from_store(struct buffers *buffers, const struct entry *entry, const char *store,
                             long file) {
  int by_address = begins_with(store, "http://");
  const char *root = by_address ? cache_folder() : store;
  uint64_t objects = (entry->bytes + CHUNK_BYTES * OBJECT_CHUNKS - 1) / (CHUNK_BYTES * OBJECT_CHUNKS);
  for (uint64_t number = 0; number < objects; number++) {
    if (!object_path(buffers->path, root, entry, number) ||
        (by_address && (!object_path(buffers->address, store, entry, number) ||
                        !fetch(buffers->address, buffers->path))))
      return MISSING;
    long error = write_object(buffers, entry, number, file);
    if (error) return error;
  }
  return 0;
}

static long write_from_original(struct buffers *buffers, const struct entry *entry,
                                const char *folder, long file) {
  struct text text = text_in(buffers->path, PATH_BYTES);
  put(&text, folder);
  put(&text, "/");
  put(&text, text_at(entry->path));
  long original = text.whole ? open_path(AT_FDCWD, buffers->path, O_RDONLY | O_NONBLOCK, 0) : -1;
  long error = original < 0 ? MISSING : 0;
  for (uint64_t left = entry->bytes; !error && left;) {
    long got = KERNEL(__NR_read, original, buffers->part, left < PART_BYTES ? left : PART_BYTES, 0);
    error = got > 0 ? write_all(file, buffers->part, (size_t)got) : MISSING;
    left -= got > 0 ? (uint64_t)got : 0;
  }
  if (original >= 0) close_file(original);
  return error;
}

static int has_digest(const struct entry *entry, long file) {
  uint8_t digest[SHA256_BYTES];
  struct status status;
  if (KERNEL(__NR_fstat, file, &status, 0, 0) || (uint64_t)status.bytes != entry->bytes) return 0;
  const uint8_t *bytes = (const uint8_t *)"";
  if (entry->bytes) {
    long at = kernel(__NR_mmap, 0, (long)entry->bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file,
                     0);
    if (at < 0 && at > UNTIL_EXTERNAL) return 0;
    bytes = (const uint8_t *)at;
  }
  sha256(bytes, entry->bytes, digest);
  if (entry->bytes) drop_memory((void *)bytes, entry->bytes);
  return !memcmp(digest, entry->sha256, sizeof digest);
}

long write_contents(const struct entry *entry, long file, const char *partial) {
  static char beside[PATH_BYTES];
  const char *location = *chosen_store ? chosen_store : index_header()->location;
  int of_original = !*chosen_store && index_header()->kind == ORIGINAL_FOLDER;
  struct buffers *buffers = new_memory(sizeof *buffers);
  if (!buffers) return -ENOMEM;
  if (!*location) {
    path_of(beside, 0, "trimtab/store");
    location = beside;
  }
  long error = of_original ? write_from_original(buffers, entry, location, file)
                           : write_from_store(buffers, entry, location, file);
  drop_memory(buffers, sizeof *buffers);
  if (!error && !has_digest(entry, file)) error = MISSING;
  if (error) KERNEL(__NR_unlink, partial, 0, 0, 0);
  if (error == MISSING)
    give_up(text_at(entry->path), ": was removed, as no profiled run used it, and ", location,
            ", which should still have it, was changed, is gone or cannot be reached; put it back, name "
            "another store with TRIMTAB_STORE, or profile the workload with what it does now and "
            "debloat again", "");
  return error;
}
