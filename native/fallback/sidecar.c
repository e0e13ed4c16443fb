#define _GNU_SOURCE
#include "sidecar.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flat_name.h"
#include "give_up.h"
#include "memory.h"
#include "open_file.h"

_Static_assert(sizeof(struct sidecar_header) == 4096, "a page");

/* The path of a library's sidecar; every library with removed parts has one. */
static const char *sidecar_path(const char *library) {
  static char path[PATH_MAX];
  char flat[FLAT_NAME_BYTES];
  flat_name(library, flat);
  int length = snprintf(path, sizeof path, "%s/" SIDECAR_FOLDER "/%s.removed", environment_root, flat);
  if (length >= (int)sizeof path) give_up("%s: its path is too long", library);
  return path;
}

/* Take `count` rows of `row_bytes` from the remaining bytes. */
static const void *take(const uint8_t **at, size_t *left, uint32_t count, size_t row_bytes) {
  if (*left / row_bytes < count) {
    *left = 0;
    *at = NULL;
    return NULL;
  }
  const uint8_t *rows = *at;
  *at += count * row_bytes;
  *left -= count * row_bytes;
  return rows;
}

__attribute__((noreturn)) static void cannot_read(const char *path) {
  give_up("code that was removed is needed, and %s, which says where it is, cannot be read: %m", path);
}

int map_sidecar(const char *library, struct sidecar *sidecar) {
  const char *path = sidecar_path(library);
  struct stat status;
  *sidecar = (struct sidecar){0};
  if (access(path, F_OK)) return 0;
  int file = open_file(path, O_RDONLY);
  if (file < 0 || fstat(file, &status)) cannot_read(path);
  if (status.st_size < (off_t)sizeof(struct sidecar_header)) give_up("%s: damaged; debloat again", path);
  const uint8_t *bytes = map_memory((size_t)status.st_size, PROT_READ, 0, file);
  if (bytes == MAP_FAILED) cannot_read(path);
  close(file);
  const struct sidecar_header *header = (const struct sidecar_header *)bytes;
  if (memcmp(header->magic, SIDECAR_MAGIC, 8) ||
      !memchr(header->location, 0, sizeof header->location))
    give_up("%s: not a table of removed code, or damaged; debloat again", path);
  const uint8_t *at = bytes + sizeof *header;
  size_t left = (size_t)status.st_size - sizeof *header;
  *sidecar = (struct sidecar){.header = header, .size = (size_t)status.st_size};
  sidecar->holes = take(&at, &left, header->holes, sizeof(struct hole));
  sidecar->pieces = take(&at, &left, header->pieces, sizeof(struct piece));
  sidecar->functions = take(&at, &left, header->functions, sizeof(struct removed_function));
  sidecar->kernels = take(&at, &left, header->kernels, sizeof(struct removed_kernel));
  sidecar->digests = take(&at, &left, header->chunks, DIGEST_BYTES);
  sidecar->text = take(&at, &left, header->text_bytes, 1);
  if (!at || left || header->chunks != (header->library_bytes + CHUNK_BYTES - 1) / CHUNK_BYTES ||
      (header->text_bytes && sidecar->text[header->text_bytes - 1]))
    give_up("%s: damaged; debloat again", path);
  return 1;
}

void unmap_sidecar(const struct sidecar *sidecar) {
  munmap((void *)sidecar->header, sidecar->size);
}

/* Each row begins with its address. */
static const void *last_not_above(const void *rows, uint32_t count, size_t row_bytes,
                                  uint64_t address) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (*(const uint32_t *)((const char *)rows + middle * row_bytes) <= address) low = middle + 1;
    else high = middle;
  }
  return low ? (const char *)rows + (low - 1) * row_bytes : NULL;
}

const struct hole *hole_at(const struct sidecar *sidecar, uint64_t address) {
  const struct hole *hole =
      last_not_above(sidecar->holes, sidecar->header->holes, sizeof *hole, address);
  return hole && address - hole->address < bytes_of(hole) ? hole : NULL;
}

const struct removed_function *function_at(const struct sidecar *sidecar, uint64_t address) {
  return last_not_above(sidecar->functions, sidecar->header->functions,
                        sizeof(struct removed_function), address);
}

const struct removed_kernel *kernel_at(const struct sidecar *sidecar, uint64_t address) {
  const struct removed_kernel *kernel =
      last_not_above(sidecar->kernels, sidecar->header->kernels, sizeof *kernel, address);
  return kernel && address - kernel->address < kernel->size &&
                 kernel->name < sidecar->header->text_bytes
             ? kernel
             : NULL;
}

const struct piece *first_piece(const struct sidecar *sidecar, uint64_t address) {
  const struct piece *piece =
      last_not_above(sidecar->pieces, sidecar->header->pieces, sizeof *piece, address);
  if (!piece) return sidecar->pieces;
  return address - piece->address < piece->size ? piece : piece + 1;
}
