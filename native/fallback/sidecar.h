/* The removed parts of a library: SIDECAR_FOLDER/{flat_name(library)}.removed, written by
 * src/trimtab/debloating/fallback.py. All numbers are little-endian; addresses are those of the
 * library's file.
 *
 * The header is followed, in this order and without gaps, by `holes` by ascending address, `pieces`
 * by ascending address, `functions` by ascending address, `kernels` by ascending address, a digest
 * for each chunk of the original library, and `text_bytes` of names, each ended by a zero. */
#ifndef TRIMTAB_SIDECAR_H
#define TRIMTAB_SIDECAR_H

#include <stddef.h>
#include <stdint.h>

#include "place.h"

#define SIDECAR_MAGIC "TRIMTAB4"
#define SIDECAR_FOLDER "trimtab/removed"
#define GPU_CODE_REMOVED "trimtab/gpu_code_removed" /* an empty file, if any was removed */
enum { CHUNK_BYTES = 16384, DIGEST_BYTES = 16, NOT_STARTED = 1, HOLDS_TRAPS = 2 };

/* The place of a library's original bytes. */
enum location_kind { ORIGINAL_FILE, STORE_FOLDER, STORE_HTTP };

struct sidecar_header {
  char magic[8];
  uint32_t flags, kind;
  uint64_t library_bytes; /* of the original */
  uint8_t library_sha256[32];
  uint32_t holes, pieces, functions, kernels, chunks, text_bytes;
  uint64_t layout; /* of the slim library's segments, as layout_of in loaded.c has it */
  char location[4008]; /* "" for the store in the environment itself */
};

/* Whole pages that are not in the file. Neither flag means constant data. */
enum { HOLDS_CODE = 1, HOLDS_GPU_CODE = 2 };
struct hole {
  uint32_t address;
  uint32_t size; /* plus flags for the pages' content */
};

static inline uint32_t bytes_of(const struct hole *hole) {
  return hole->size & ~(uint32_t)(HOLDS_CODE | HOLDS_GPU_CODE);
}

/* Bytes of holes, at `offset` of the original; bytes of a hole without a piece are zeros. */
struct piece {
  uint32_t address, size, offset;
};

/* A function that lies, at least in part, on a removed page. */
struct removed_function {
  uint32_t address;
  uint32_t name; /* the offset of its name in the original, 0 without one */
};

/* GPU code, its address in the original, and the name of one of its kernels, at `name` in the
 * text. */
struct removed_kernel {
  uint32_t address, size, original, name;
};

struct sidecar {
  const struct sidecar_header *header;
  const struct hole *holes;
  const struct piece *pieces;
  const struct removed_function *functions;
  const struct removed_kernel *kernels;
  const uint8_t *digests;
  const char *text;
  size_t size;
};

/* Map the sidecar of a library of the environment; returns 0 without one. Ends the program if it is
 * damaged. */
int map_sidecar(const char *library, struct sidecar *sidecar);
void unmap_sidecar(const struct sidecar *sidecar);

/* The last row whose address is not above `address`; NULL without one. */
const struct hole *hole_at(const struct sidecar *sidecar, uint64_t address);
const struct removed_function *function_at(const struct sidecar *sidecar, uint64_t address);
const struct removed_kernel *kernel_at(const struct sidecar *sidecar, uint64_t address);

/* The first piece that ends after `address`; the end of the pieces if there is none. */
const struct piece *first_piece(const struct sidecar *sidecar, uint64_t address);

#endif
