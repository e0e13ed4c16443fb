/* What was removed of an environment: INDEX_FILE, written by
 * src/trimtab/debloating/files/coming_back.py. All numbers are little-endian; a path is one below
 * the environment, without a slash at its beginning, and "" for the environment itself.
 *
 * The header is followed, in this order and without gaps, by `entries`; a hash table of `slots` numbers
 * of entries by path (plus 1, 0 for none); `folders`; a table of `folder_slots` numbers of these, likewise;
 * `children` numbers of entries; `needs` numbers of entries; a table of `name_slots` hashes of names (0
 * for none); and `text_bytes` of texts, each ended by a zero, the first one being "".
 *
 * Tables have a power of two of slots, half of them free at least. A hash is FNV-1a of 64 bits, its
 * halves exclusive-or'ed, and 1 where that is 0; who finds another's slot looks in the next one. */
#ifndef TRIMTAB_INDEX_H
#define TRIMTAB_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "system.h"

#define INDEX_MAGIC "TRIMTABF"
#define INDEX_FILE "trimtab/files.index"

/* A byte for each entry: whether it is BACK. From then on it is the program's to change and remove. */
#define STATE_FILE "trimtab/files.state"
enum { AWAY, BACK };

/* A KEPT_PROGRAM was not removed, but what it needs to start was. */
enum entry_kind { REGULAR, LINK, FOLDER, KEPT_PROGRAM };

/* Where contents are; for a store see ../fallback/store.h. */
enum contents_kind { ORIGINAL_FOLDER, STORE };

enum { DIGEST_BYTES = 32, CHECK_BYTES = 16 };

struct index_header {
  char magic[8];
  uint64_t file_bytes; /* of the whole index */
  uint8_t id[16];      /* of what follows the header: the beginning of its SHA-256 */
  uint32_t kind, entries, slots, folders, folder_slots, children, needs, name_slots, text_bytes;
  char location[4028]; /* a folder or an http:// address; "" for the store in the environment */
};

struct entry {
  uint32_t path, target; /* in the text; a link's text is `target` */
  uint32_t names;        /* of the file besides this one, in the text, behind one another, and "" */
  uint32_t need, needs;  /* first and number of what has to be there when it is executed */
  uint32_t kind, mode, user, group;
  uint32_t modified_ns;
  int64_t modified_s;
  uint64_t bytes;
  uint8_t sha256[DIGEST_BYTES];
  uint8_t check[CHECK_BYTES]; /* the beginning of the SHA-256 of what is before it, and the texts */
};

/* A folder, removed or not, and what was removed from it. */
struct folder {
  uint32_t path, child, children;
};

/* Map the index of the environment; 0 where it has none. Ends the program for one that is damaged. */
int map_index(const char *environment);

const struct index_header *index_header(void);

/* Whether any component of a path has a name of which something was removed. */
GENERAL int may_be_removed(const char *path);

/* NULL where nothing was removed at the path. An entry is checked, and ends the program if damaged. */
const struct entry *entry_at(const char *path);
const struct entry *entry_number(uint32_t number);
uint32_t number_of(const struct entry *entry);

GENERAL const struct folder *folder_at(const char *path);
const struct entry *child_of(const struct folder *folder, uint32_t number);
const struct entry *need_of(const struct entry *entry, uint32_t number);
GENERAL const char *text_at(uint32_t offset);

#endif
