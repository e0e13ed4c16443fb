/* Where the calls are in a machine's C library and dynamic linker: found when an environment is made,
 * and written into its copy of this library (src/trimtab/debloating/files/file_fallback.py), as a
 * search takes a tenth of a millisecond. */
#ifndef TRIMTAB_KNOWN_SITES_H
#define TRIMTAB_KNOWN_SITES_H

#include <link.h>
#include <stdint.h>

enum { BUILD_ID_BYTES = 20, MOST_KNOWN = 200 };

struct known_sites {
  char magic[16];
  uint8_t library_id[BUILD_ID_BYTES], linker_id[BUILD_ID_BYTES];
  uint32_t library_count, linker_count; /* 0: unknown */
  uint32_t places[MOST_KNOWN];          /* from where it is loaded: the library's, then the linker's */
};

extern const struct known_sites known_sites;

/* The ID that the linker gave an object when it was made; NULL without one. */
const uint8_t *build_id(const struct dl_phdr_info *info);

/* The known places in an object, and their number; 0 if it is another one. */
uint32_t known_places(const struct dl_phdr_info *info, const uint32_t **places);

#endif
