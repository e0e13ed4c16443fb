/* The removed files of an environment: INDEX_FILE, written by
 * src/trimtab/debloating/file_index/writing.py. All numbers are little-endian; paths are relative
 * to the environment, without a leading slash, and "" is the environment itself.
 *
 * The header is followed, in this order and without gaps, by `filter_words`; `folders`; a struct
 * block for every BLOCK_ENTRIES entries; `attributes`; `endings`, which are places in the text;
 * `text_bytes` of texts, each ended by a zero, the first and the last one being ""; and
 * `record_bytes` of records. `check` is the CRC-32 of all bytes before the records, with itself as
 * 0; the blocks have the records' CRC-32.
 *
 * An entry is a record, and its number is the record's index. Entries of a folder are sorted by
 * name, folders by hash: 64-bit FNV-1a, its halves exclusive-or'ed. Folders without removed entries
 * are included if they are parents of others. Folders' first entry numbers never decrease.
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
 * The filter passes the name of each entry, and its path after a slash. Each has four bits in one
 * word. They come from its FNV-1a times 0x9e3779b97f4a7c15: the upper half is the word's number,
 * and the lowest four times six bits are the bit numbers. */
#ifndef TRIMTAB_INDEX_H
#define TRIMTAB_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "system.h"

#define INDEX_MAGIC "TRIMTAB2"
#define INDEX_FILE "trimtab/files.index"

/* A byte for each entry: whether it is BACK. After that the program may change and remove it. */
#define STATE_FILE "trimtab/files.state"
enum { AWAY, BACK };

/* A KEPT_PROGRAM was not removed, but files that it needs to start were. */
enum entry_kind { REGULAR, LINK, FOLDER, KEPT_PROGRAM };

/* The place of contents; for a store see ../fallback/store.h. */
enum contents_kind { ORIGINAL_FOLDER, STORE };

enum { DIGEST_BYTES = 16, BLOCK_ENTRIES = 16, NAME_BYTES = 256, LONGEST_PATH = 4096 };
enum { HAS_SAME_TIME = 1, HAS_MORE = 2, FLAG_BITS = 2 };

struct index_header {
  char magic[8];
  uint64_t file_bytes; /* of the whole index */
  uint8_t id[16];      /* of the bytes after the header: the beginning of their SHA-256 */
  uint32_t kind, entries, filter_words, folders, attributes, endings, text_bytes, record_bytes, check;
  char location[4028]; /* a folder or an http:// address; "" for the store in the environment */
};

/* A folder, removed or not. Its entries end where those of the next folder begin. */
struct folder {
  uint32_t hash, above; /* of the path; the row of its parent folder */
  uint32_t name, first; /* in the text; the number of its first entry */
};

struct block {
  uint32_t begin, check;
};

struct attributes {
  uint32_t kind, mode, user, group;
};

/* A parsed entry. Its pointers point into the index. */
struct entry {
  uint32_t number, kind, mode, user, group;
  uint32_t modified_ns;
  int64_t modified_s;
  uint64_t bytes;
  const uint8_t *digest; /* the first DIGEST_BYTES of the SHA-256 of a file's contents */
  const char *target;    /* a link's text, otherwise "" */
  const char *names;     /* of the file, in sequence, and ""; only "" if it has no other */
  uint32_t needs;        /* how many it needs when it is executed */
  const uint8_t *first_need, *end; /* their numbers, and the end of the records */
  const char *name;                /* the last component of `path` */
  char path[LONGEST_PATH];
};

/* Map the index of the environment; returns 0 without one. Ends the program if it is damaged. */
int map_index(const char *environment);

const struct index_header *index_header(void);

/* Whether any component of a path may be the name of a removed entry. */
GENERAL int may_be_removed(const char *path);

/* Whether a path may be an entry's: the filter passes its name and the whole path, and its folder
 * lost something. The path is below the environment or above it, without `.`, `..` and empty names.
 * Makes no system call. */
GENERAL int may_be_entry(const char *path);

/* Read an entry, and end the program if it is damaged; returns 0 if nothing was removed at the
 * path. */
int entry_at(const char *path, struct entry *entry);
void entry_number(uint32_t number, struct entry *entry);

/* A folder that lost something, or NULL; the number of these, and each of them. */
GENERAL const struct folder *folder_at(const char *path);
GENERAL uint32_t children_of(const struct folder *folder);
int child_of(const struct folder *folder, const char *name, struct entry *entry);

/* Give a folder's entries, from its `from`th on, to `take` until it returns 0. They have no path. */
void each_child(const struct folder *folder, uint32_t from, int (*take)(void *data, const struct entry *entry),
                void *data);

/* Write the path of an entry that another entry needs. */
void need_of(const struct entry *entry, uint32_t number, struct entry *need);

#endif
