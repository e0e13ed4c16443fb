/* What was removed of one library: TABLES/{library with / as __}.removed, written by
 * src/trimtab/debloating/fallback.py. All numbers are little-endian.
 *
 * The header is followed by `functions` rows by ascending address. Their code and their names, each
 * ended by a zero, are in the file `source`, or, where that is empty, in this one. Without functions
 * the library is not started, and none of its code can be put back. */
#ifndef TRIMTAB_SIDECAR_H
#define TRIMTAB_SIDECAR_H

#include <stdint.h>

#define SIDECAR_MAGIC "TRIMTABR"
#define SIDECAR_FOLDER "trimtab/removed"

struct sidecar_header {
  char magic[8];
  uint64_t functions;
  uint64_t source_bytes, source_modified_ns; /* the source when this was written */
  char source[4064];
};

struct sidecar_function {
  uint32_t address, size; /* in the library's address space */
  uint32_t offset;        /* of the code, in the source */
  uint32_t name;          /* of the name, in the source; 0 without one */
};

#endif
