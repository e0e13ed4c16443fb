/* What was removed of an environment: INDEX_FILE, written by
 * src/trimtab/debloating/file_index/writing.py. All numbers are little-endian; a path is one below the
 * environment, without a slash at its beginning, and "" for the environment itself.
 *
 * The header is followed, in this order and without gaps, by `filter_words`; `folders`; a struct block for
 * every BLOCK_ENTRIES entries; `attributes`; `endings`, which are places in the text; `text_bytes` of texts,
 * each ended by a zero, the first and the last one being ""; and `record_bytes` of records. `check` is the
 * CRC-32 of all before the records, itself taken for 0; those of the records are with their blocks.
 *
 * An entry is a record, and its number says which. Entries of a folder are in the order of their names, folders in
 * that of their hashes: FNV-1a of 64 bits, its halves exclusive-or'ed. Folders of which nothing was
 * removed are there as the ones above others. The first numbers of entries never fall.
 *
 * A record is made of numbers of seven bits a byte, the lowest first, all bytes but the last having the
 * highest bit, and of texts, which are their length and their bytes:
 *   - the row of its attributes, times 4, and HAS_SAME_TIME and HAS_MORE
 *   - how much of its stem is that of the record before, the rest of the stem as a text, and the
 *     number of its ending: a name is a stem and an ending
 *   - unless it HAS_SAME_TIME: the seconds since the one before, twice, or twice less 1 if backwards; and
 *     the nanoseconds
 *   - if it HAS_MORE: the place of all names of its file, behind one another, and ""; how many entries
 *     have to be there when it is executed, and their numbers
 *   - of a REGULAR file its size, and DIGEST_BYTES of digest; of a LINK its text, and a zero
 * The first one of a block follows one without a name of second 0.
 *
 * The filter passes the name of each entry, and its path behind a slash. Each has four bits in one word: of its
 * FNV-1a times 0x9e3779b97f4a7c15 the upper half is the word's number, and the lowest four times six bits are the
 * bits'. */
#ifndef TRIMTAB_INDEX_H
#define TRIMTAB_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "system.h"

#define INDEX_MAGIC "TRIMTAB2"
#define INDEX_FILE "trimtab/files.index"

/* A byte for each entry: whether it is BACK. From then on it is the program's to change and remove. */
#define STATE_FILE "trimtab/files.state"
enum { AWAY, BACK };

/* A KEPT_PROGRAM was not removed, but what it needs to start was. */
enum entry_kind { REGULAR, LINK, FOLDER, KEPT_PROGRAM };

/* Where contents are; for a store see ../fallback/store.h. */
enum contents_kind { ORIGINAL_FOLDER, STORE };

enum { DIGEST_BYTES = 16, BLOCK_ENTRIES = 16, NAME_BYTES = 256, LONGEST_PATH = 4096 };
enum { HAS_SAME_TIME = 1, HAS_MORE = 2, FLAG_BITS = 2 };

struct index_header {
  char magic[8];
  uint64_t file_bytes; /* of the whole index */
  uint8_t id[16];      /* of what follows the header: the beginning of its SHA-256 */
  uint32_t kind, entries, filter_words, folders, attributes, endings, text_bytes, record_bytes, check;
  char location[4028]; /* a folder or an http:// address; "" for the store in the environment */
};

/* A folder, removed or not. Its entries end where those of the next one begin. */
struct folder {
  uint32_t hash, above; /* of the path; the row of the folder that it lies in */
  uint32_t name, first; /* in the text; the number of its first entry */
};

struct block {
  uint32_t begin, check;
};

struct attributes {
  uint32_t kind, mode, user, group;
};

/* An entry as it was read. What it points at is the index's. */
struct entry {
  uint32_t number, kind, mode, user, group;
  uint32_t modified_ns;
  int64_t modified_s;
  uint64_t bytes;
  const uint8_t *digest; /* the first DIGEST_BYTES of the SHA-256 of a file's contents */
  const char *target;    /* a link's text, else "" */
  const char *names;     /* of the file, behind one another, and ""; "" for one that has no other */
  uint32_t needs;        /* how many have to be there when it is executed */
  const uint8_t *first_need, *end; /* their numbers, and where the records do */
  const char *name;                /* the last component of `path` */
  char path[LONGEST_PATH];
};

/* Map the index of the environment; 0 where it has none. Ends the program for one that is damaged. */
int map_index(const char *environment);

const struct index_header *index_header(void);

/* Whether any component of a path may have a name of which something was removed. */
GENERAL int may_be_removed(const char *path);

/* Whether a path below the environment, spelled without `.`, `..` and empty names, or one above it, may be an
 * entry's: the filter passes its name and all of it, and of its folder something was removed. No system call is
 * made. */
GENERAL int may_be_entry(const char *path);

/* Read an entry, and end the program if it is damaged; 0 where nothing was removed at the path. */
int entry_at(const char *path, struct entry *entry);
void entry_number(uint32_t number, struct entry *entry);

/* A folder of which something was removed, or NULL; the number of these, and each of them. */
GENERAL const struct folder *folder_at(const char *path);
GENERAL uint32_t children_of(const struct folder *folder);
int child_of(const struct folder *folder, const char *name, struct entry *entry);

/* Write the path of a thing that an entry needs. */
void need_of(const struct entry *entry, uint32_t number, struct entry *need);

#endif
