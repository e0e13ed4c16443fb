#define _GNU_SOURCE
#include "put_back.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "give_up.h"
#include "memory.h"
#include "place.h"
#include "sidecar.h"

struct mapped_file {
  const uint8_t *bytes; /* null when the file could not be mapped */
  size_t size;
  uint64_t modified_ns;
};

static struct mapped_file map_file(const char *path) {
  struct mapped_file mapped = {0};
  struct stat status;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return mapped;
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED)
      mapped = (struct mapped_file){bytes, (size_t)status.st_size,
                                    (uint64_t)status.st_mtim.tv_sec * 1000000000u +
                                        (uint64_t)status.st_mtim.tv_nsec};
  }
  close(file);
  return mapped;
}

static void unmap_file(const struct mapped_file *mapped) {
  munmap((void *)mapped->bytes, mapped->size);
}

/* The path of a library's sidecar; every library that lost code has one. */
static const char *sidecar_path(const char *library) {
  static char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s/" SIDECAR_FOLDER "/", environment_root);
  char *end = path + length, *limit = path + sizeof path - sizeof ".removed";
  for (; *library && end < limit - 1; library++) {
    if (*library == '/') *end++ = '_';
    *end++ = *library == '/' ? '_' : *library;
  }
  memcpy(end, ".removed", sizeof ".removed");
  return path;
}

static const struct sidecar_function *find_function(const struct sidecar_function *functions,
                                                    uint64_t count, uint64_t address) {
  uint64_t low = 0, high = count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (functions[middle].address <= address) low = middle + 1;
    else high = middle;
  }
  if (!low || address - functions[low - 1].address >= functions[low - 1].size) return NULL;
  return &functions[low - 1];
}

static const struct sidecar_header *header_of(const struct mapped_file *sidecar, const char *path) {
  const struct sidecar_header *header = (const struct sidecar_header *)sidecar->bytes;
  if (sidecar->size < sizeof *header || memcmp(header->magic, SIDECAR_MAGIC, 8) ||
      header->functions > (sidecar->size - sizeof *header) / sizeof(struct sidecar_function) ||
      !memchr(header->source, 0, sizeof header->source))
    give_up("%s: not a table of removed functions, or damaged; debloat again", path);
  return header;
}

/* No sidecar: either nothing was removed of this library, or the sidecars were left out. */
static int without_sidecar(const uint8_t *address, const struct place *place) {
  static char folder[PATH_MAX + sizeof SIDECAR_FOLDER + 1];
  snprintf(folder, sizeof folder, "%s/" SIDECAR_FOLDER, environment_root);
  if (access(folder, F_OK) == 0) return 0;
  if (is_readable(address) && *address != TRAP) return 0;
  give_up("%s at 0x%lx was called, where there is no code any more: most likely it was removed, "
          "as no profiled run used it, and %s, which has what was removed, is not there either; "
          "put that folder back, or profile the workload with what it does now and debloat again",
          place->library, (unsigned long)(address - place->base), folder);
}

/* A table without functions: the library has no code at all, nor did its constructors run. */
static void refuse_to_start(const uint8_t *address, const struct place *place) {
  give_up("%s at 0x%lx was called, but that library is not started any more: nothing but its "
          "start-up code ran when it was profiled; profile the workload with what it does now and "
          "debloat again, or debloat with start_up_only: keep",
          place->library, (unsigned long)(address - place->base));
}

/* The file that has the function's bytes and its name: the sidecar itself or the original library. */
static struct mapped_file map_source(const struct mapped_file *sidecar,
                                     const struct sidecar_function *function,
                                     const struct place *place, const char *path) {
  const struct sidecar_header *header = (const struct sidecar_header *)sidecar->bytes;
  struct mapped_file source = *sidecar;
  if (*header->source) {
    source = map_file(header->source);
    if (source.size != header->source_bytes || source.modified_ns != header->source_modified_ns)
      give_up("%s at 0x%lx was removed, as no profiled run used it, and %s, which still had it, "
              "was changed or is gone; profile the workload with it and debloat again",
              place->library, (unsigned long)function->address, header->source);
  }
  if (function->offset > source.size || function->size > source.size - function->offset ||
      function->name >= source.size)
    give_up("%s: damaged; debloat again", path);
  return source;
}

/* The kernel fills the last page up with zeros, but not every file ends within a page. */
static void copy_name(char *name, size_t name_bytes, const struct mapped_file *source,
                      const struct sidecar_function *function) {
  size_t room = source->size - function->name;
  if (room >= name_bytes) room = name_bytes - 1;
  size_t length = function->name ? strnlen((const char *)source->bytes + function->name, room) : 0;
  memcpy(name, source->bytes + function->name, length);
  name[length] = 0;
}

int put_back_at(uint8_t *address, struct removed_call *call) {
  static char name[4096];
  struct place place;
  *call = (struct removed_call){0};
  if (!find_place(address, &place)) return 0;
  const char *path = sidecar_path(place.library);
  struct mapped_file sidecar = map_file(path);
  if (!sidecar.bytes) return without_sidecar(address, &place);
  const struct sidecar_header *header = header_of(&sidecar, path);
  if (!header->functions) refuse_to_start(address, &place);
  const struct sidecar_function *function =
      find_function((const struct sidecar_function *)(header + 1), header->functions,
                    (uint64_t)(address - place.base));
  int found = function != NULL;
  if (function) {
    struct mapped_file source = map_source(&sidecar, function, &place, path);
    const uint8_t *original = source.bytes + function->offset;
    uint8_t *code = place.base + function->address;
    if (is_back(code, original, function->size)) {
      found = original[address - code] != TRAP; /* otherwise a trap of the program's own */
    } else {
      write_code(code, original, function->size);
      copy_name(name, sizeof name, &source, function);
      *call = (struct removed_call){place.library, name, function->address};
    }
    if (source.bytes != sidecar.bytes) unmap_file(&source);
  }
  unmap_file(&sidecar);
  return found;
}
