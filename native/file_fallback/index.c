#include "index.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "../digest/crc32.h"
#include "system.h"

_Static_assert(sizeof(struct index_header) == 4096, "a page");

static const struct index_header *header;
static const uint64_t *filter;
static const struct folder *folders;
static const struct block *blocks;
static const struct attributes *attributes;
static const uint32_t *endings;
static const char *text;
static const uint8_t *records;
static uint32_t block_count;
static char index_path[LONGEST_PATH + 64];

__attribute__((noreturn)) static void damaged(void) {
  give_up(index_path, ": damaged; debloat again", "", "", "");
}

static GENERAL uint64_t hashed(uint64_t hash, char letter) {
  return (hash ^ (unsigned char)letter) * 0x100000001b3;
}

static const uint64_t hash_of_nothing = 0xcbf29ce484222325;

static GENERAL uint32_t hash_of(const char *path, size_t bytes) {
  uint64_t hash = hash_of_nothing;
  for (size_t i = 0; i < bytes; i++) hash = hashed(hash, path[i]);
  return (uint32_t)(hash ^ hash >> 32);
}

/* Take `count` rows of `row_bytes` from the remaining bytes. */
static const void *take(const uint8_t **at, uint64_t *left, uint64_t count, uint64_t row_bytes) {
  if (!*at || *left / row_bytes < count) {
    *at = NULL;
    return NULL;
  }
  const uint8_t *rows = *at;
  *at += count * row_bytes;
  *left -= count * row_bytes;
  return rows;
}

static int has_check(const struct index_header *read, const uint8_t *end) {
  static const uint8_t none[sizeof read->check];
  size_t before = offsetof(struct index_header, check);
  const uint8_t *behind = (const uint8_t *)read + before + sizeof none;
  uint32_t check = crc32(0, (const uint8_t *)read, before);
  check = crc32(check, none, sizeof none);
  return crc32(check, behind, (size_t)(end - behind)) == read->check;
}

static const struct index_header *map_file(const char *environment) {
  struct status status;
  struct text path = text_in(index_path, sizeof index_path);
  put(&path, environment);
  put(&path, "/" INDEX_FILE);
  long file = open_path(AT_FDCWD, index_path, O_RDONLY, 0);
  if (file < 0) return NULL;
  if (KERNEL(__NR_fstat, file, &status, 0, 0) || (uint64_t)status.bytes < sizeof *header) damaged();
  long at = kernel(__NR_mmap, 0, status.bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close_file(file);
  if (at < 0 && at > -4096) give_up(index_path, ": cannot be mapped; is there memory?", "", "", "");
  const struct index_header *read = (const struct index_header *)at;
  if (read->file_bytes != (uint64_t)status.bytes) damaged();
  return read;
}

int map_index(const char *environment) {
  const struct index_header *read = map_file(environment);
  if (!read) return 0;
  uint64_t left = read->file_bytes - sizeof *read;
  const uint8_t *rows = (const uint8_t *)(read + 1);
  filter = take(&rows, &left, read->filter_words, sizeof *filter);
  folders = take(&rows, &left, read->folders, sizeof *folders);
  block_count = (uint32_t)(((uint64_t)read->entries + BLOCK_ENTRIES - 1) / BLOCK_ENTRIES);
  blocks = take(&rows, &left, block_count, sizeof *blocks);
  attributes = take(&rows, &left, read->attributes, sizeof *attributes);
  endings = take(&rows, &left, read->endings, sizeof *endings);
  text = take(&rows, &left, read->text_bytes, 1);
  records = rows;
  if (memcmp(read->magic, INDEX_MAGIC, 8) || !rows || left != read->record_bytes ||
      !has_check(read, records) || !read->filter_words || read->filter_words & (read->filter_words - 1) ||
      read->text_bytes < 2 || text[0] || text[read->text_bytes - 2] || text[read->text_bytes - 1] ||
      read->location[sizeof read->location - 1])
    damaged();
  header = read;
  return 1;
}

const struct index_header *index_header(void) { return header; }

static GENERAL const char *text_at(uint64_t place) {
  if (place >= header->text_bytes) damaged();
  return text + place;
}

static GENERAL int passes(uint64_t hash) {
  uint64_t mixed = hash * 0x9e3779b97f4a7c15;
  uint64_t bits = 1ull << (mixed & 63) | 1ull << (mixed >> 6 & 63) | 1ull << (mixed >> 12 & 63) |
                  1ull << (mixed >> 18 & 63);
  return (filter[mixed >> 32 & (header->filter_words - 1)] & bits) == bits;
}

GENERAL int may_be_removed(const char *path) {
  while (*path) {
    uint64_t hash = hash_of_nothing;
    const char *begin = path;
    for (; *path && *path != '/'; path++) hash = hashed(hash, *path);
    if (path != begin && passes(hash)) return 1;
    if (*path) path++;
  }
  return 0;
}

/* Whether the names of a folder and its parents make up the path. Each takes a part of it, so the
 * loop ends. */
static GENERAL int has_path(const struct folder *folder, const char *path, size_t bytes) {
  for (;;) {
    const char *name = text_at(folder->name);
    size_t length = strlen(name);
    if (!length || !bytes) return !length && !bytes;
    if (length > bytes || (length < bytes && path[bytes - length - 1] != '/')) return 0;
    for (size_t i = 0; i < length; i++)
      if (name[i] != path[bytes - length + i]) return 0;
    bytes -= length < bytes ? length + 1 : length;
    if (folder->above >= header->folders) damaged();
    folder = folders + folder->above;
  }
}

static GENERAL const struct folder *find_folder(const char *path, size_t bytes) {
  uint32_t hash = hash_of(path, bytes), low = 0, high = header->folders;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (folders[middle].hash < hash) low = middle + 1;
    else high = middle;
  }
  for (; low < header->folders && folders[low].hash == hash; low++)
    if (has_path(folders + low, path, bytes)) return folders + low;
  return NULL;
}

GENERAL uint32_t children_of(const struct folder *folder) {
  uint32_t end = folder + 1 < folders + header->folders ? folder[1].first : header->entries;
  if (folder->first > end || end > header->entries) damaged();
  return end - folder->first;
}

GENERAL const struct folder *folder_at(const char *path) {
  const struct folder *folder = find_folder(path, strlen(path));
  return folder && children_of(folder) ? folder : NULL;
}

GENERAL int may_be_entry(const char *path) {
  uint64_t whole = hash_of_nothing;
  for (const char *name = path, *at = path;; name = ++at) {
    uint64_t last = hash_of_nothing;
    whole = hashed(whole, '/');
    for (; *at && *at != '/'; at++) {
      last = hashed(last, *at);
      whole = hashed(whole, *at);
    }
    if (passes(last) && passes(whole)) {
      const struct folder *folder = find_folder(path, (size_t)(name - path) - (name > path));
      if (folder && children_of(folder)) return 1;
    }
    if (!*at) return 0;
  }
}

/* The folder of an entry: the last one whose first entry is not after it. */
static const struct folder *folder_of(uint32_t number) {
  uint32_t low = 0, high = header->folders;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (folders[middle].first <= number) low = middle + 1;
    else high = middle;
  }
  if (!low) damaged();
  return folders + low - 1;
}

/* Reads records in sequence. */
struct reading {
  const uint8_t *at, *end;
  uint32_t number; /* of the next entry */
  int64_t modified_s;
  uint32_t modified_ns;
  size_t stem_bytes;
  char name[NAME_BYTES];
};

static uint64_t read_number(const uint8_t **at, const uint8_t *end) {
  uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (*at >= end) damaged();
    uint8_t byte = *(*at)++;
    number |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return number;
  }
  damaged();
}

static uint64_t next_number(struct reading *reading) { return read_number(&reading->at, reading->end); }

static const uint8_t *next_bytes(struct reading *reading, uint64_t bytes) {
  const uint8_t *at = reading->at;
  if (bytes > (uint64_t)(reading->end - at)) damaged();
  reading->at += bytes;
  return at;
}

static void begin_block(struct reading *reading, uint32_t block) {
  if (block >= block_count) damaged();
  uint32_t begin = blocks[block].begin;
  uint32_t end = block + 1 < block_count ? blocks[block + 1].begin : header->record_bytes;
  if (begin > end || end > header->record_bytes ||
      crc32(0, records + begin, end - begin) != blocks[block].check)
    damaged();
  reading->at = records + begin;
  reading->end = records + end;
  reading->number = block * BLOCK_ENTRIES;
  reading->modified_s = reading->modified_ns = 0;
  reading->stem_bytes = 0;
}

static void read_name(struct reading *reading) {
  uint64_t shared = next_number(reading), rest = next_number(reading);
  const uint8_t *bytes = next_bytes(reading, rest);
  uint64_t number = next_number(reading);
  if (number >= header->endings || shared > reading->stem_bytes) damaged();
  const char *ending = text_at(endings[number]);
  size_t stem_bytes = shared + rest, ending_bytes = strlen(ending);
  if (rest >= NAME_BYTES || ending_bytes >= NAME_BYTES || stem_bytes + ending_bytes >= NAME_BYTES) damaged();
  memcpy(reading->name + shared, bytes, rest);
  memcpy(reading->name + stem_bytes, ending, ending_bytes + 1);
  reading->stem_bytes = stem_bytes;
}

static void read_time(struct reading *reading) {
  uint64_t seconds = next_number(reading), ns = next_number(reading);
  uint64_t turned = seconds >> 1 ^ -(seconds & 1);
  if (ns >= 1000000000) damaged();
  reading->modified_s = (int64_t)((uint64_t)reading->modified_s + turned);
  reading->modified_ns = (uint32_t)ns;
}

static void read_more(struct reading *reading, struct entry *entry) {
  entry->names = text_at(next_number(reading));
  uint64_t needs = next_number(reading);
  if (needs > header->entries) damaged();
  entry->needs = (uint32_t)needs;
  entry->first_need = reading->at;
  for (; needs; needs--) next_number(reading);
}

/* Reads an entry except its path. */
static void read_entry(struct reading *reading, struct entry *entry) {
  uint64_t head = next_number(reading), row = head >> FLAG_BITS;
  if (row >= header->attributes || attributes[row].kind > KEPT_PROGRAM) damaged();
  read_name(reading);
  if (!(head & HAS_SAME_TIME)) read_time(reading);
  entry->number = reading->number++;
  entry->kind = attributes[row].kind;
  entry->mode = attributes[row].mode;
  entry->user = attributes[row].user;
  entry->group = attributes[row].group;
  entry->modified_s = reading->modified_s;
  entry->modified_ns = reading->modified_ns;
  entry->needs = 0;
  entry->names = entry->target = "";
  if (head & HAS_MORE) read_more(reading, entry);
  entry->bytes = entry->kind == REGULAR ? next_number(reading) : 0;
  entry->digest = entry->kind == REGULAR ? next_bytes(reading, DIGEST_BYTES) : NULL;
  if (entry->kind == LINK) {
    uint64_t bytes = next_number(reading);
    entry->target = (const char *)next_bytes(reading, bytes);
    if (bytes >= LONGEST_PATH || *next_bytes(reading, 1)) damaged();
  }
  entry->end = reading->end;
}

/* Write the path backwards: the name, and the names of its parents. */
static void write_path(struct entry *entry, const struct folder *folder, const char *name) {
  const char *part = name;
  size_t at = sizeof entry->path - 1, length = strlen(name);
  for (entry->path[at] = 0;;) {
    if (length + 1 > at) damaged();
    at -= length;
    for (size_t i = 0; i < length; i++) entry->path[at + i] = part[i];
    part = text_at(folder->name);
    length = strlen(part);
    if (!length) break;
    entry->path[--at] = '/';
    if (folder->above >= header->folders) damaged();
    folder = folders + folder->above;
  }
  size_t bytes = sizeof entry->path - at;
  for (size_t i = 0; i < bytes; i++) entry->path[i] = entry->path[at + i];
  entry->name = entry->path + bytes - 1 - strlen(name);
}

void entry_number(uint32_t number, struct entry *entry) {
  struct reading reading;
  if (number >= header->entries) damaged();
  begin_block(&reading, number / BLOCK_ENTRIES);
  do read_entry(&reading, entry);
  while (entry->number != number);
  write_path(entry, folder_of(number), reading.name);
}

void each_child(const struct folder *folder, uint32_t from, int (*take)(void *, const struct entry *),
                void *data) {
  struct reading reading;
  struct entry entry;
  uint32_t number = folder->first + from, end = folder->first + children_of(folder);
  for (int wants_more = 1; wants_more && number < end;) {
    begin_block(&reading, number / BLOCK_ENTRIES);
    for (uint32_t left = BLOCK_ENTRIES; wants_more && left && reading.number < end; left--) {
      read_entry(&reading, &entry);
      if (entry.number != number) continue;
      entry.name = reading.name;
      wants_more = take(data, &entry);
      number++;
    }
  }
}

static int compared(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return (unsigned char)*a - (unsigned char)*b;
}

/* Of the blocks in a folder, or beginning before it, the last one whose first name is not after the
 * name. */
static uint32_t block_of(const struct folder *folder, uint32_t end, const char *name, struct entry *entry) {
  struct reading reading;
  uint32_t low = folder->first / BLOCK_ENTRIES, high = (end - 1) / BLOCK_ENTRIES;
  while (low < high) {
    uint32_t middle = high - (high - low) / 2;
    begin_block(&reading, middle);
    read_entry(&reading, entry);
    if (compared(reading.name, name) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}

int child_of(const struct folder *folder, const char *name, struct entry *entry) {
  struct reading reading;
  uint32_t children = children_of(folder), end = folder->first + children;
  if (!children) return 0;
  uint32_t block = block_of(folder, end, name, entry);
  begin_block(&reading, block);
  for (uint32_t left = BLOCK_ENTRIES; left && reading.number < end; left--) {
    read_entry(&reading, entry);
    if (entry->number < folder->first || !is_same(reading.name, name)) continue;
    write_path(entry, folder, reading.name);
    return 1;
  }
  return 0;
}

int entry_at(const char *path, struct entry *entry) {
  size_t bytes = strlen(path), name = bytes;
  while (name && path[name - 1] != '/') name--;
  if (name == bytes) return 0; /* the environment itself */
  const struct folder *folder = find_folder(path, name ? name - 1 : 0);
  return folder && child_of(folder, path + name, entry);
}

void need_of(const struct entry *entry, uint32_t number, struct entry *need) {
  const uint8_t *at = entry->first_need;
  if (number >= entry->needs) damaged();
  for (; number; number--) read_number(&at, entry->end);
  uint64_t found = read_number(&at, entry->end);
  if (found >= header->entries) damaged();
  entry_number((uint32_t)found, need);
}
