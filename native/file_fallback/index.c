#include "index.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "../digest/sha256.h"
#include "system.h"

_Static_assert(sizeof(struct index_header) == 4096, "a page");
_Static_assert(sizeof(struct entry) == 104, "as coming_back.py writes it");

enum { LONGEST_PATH = 4096 };

static const struct index_header *header;
static const struct entry *entries;
static const uint32_t *slots, *folder_slots, *children, *needs, *names;
static const struct folder *folders;
static const char *text;
static char index_path[LONGEST_PATH + 64];

__attribute__((noreturn)) static void damaged(void) {
  give_up(index_path, ": damaged; debloat again", "", "", "");
}

static GENERAL uint32_t folded(uint64_t hash) {
  uint32_t both = (uint32_t)(hash ^ hash >> 32);
  return both ? both : 1;
}

static GENERAL uint64_t hashed(uint64_t hash, char letter) {
  return (hash ^ (unsigned char)letter) * 0x100000001b3;
}

static const uint64_t hash_of_nothing = 0xcbf29ce484222325;

static GENERAL uint32_t hash_of(const char *path) {
  uint64_t hash = hash_of_nothing;
  for (; *path; path++) hash = hashed(hash, *path);
  return folded(hash);
}

static int is_power(uint32_t number) { return number && !(number & (number - 1)); }

/* Take `count` rows of `row_bytes` from the bytes that are left. */
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

int map_index(const char *environment) {
  struct status status;
  struct text path = text_in(index_path, sizeof index_path);
  put(&path, environment);
  put(&path, "/" INDEX_FILE);
  long file = open_path(AT_FDCWD, index_path, O_RDONLY, 0);
  if (file < 0) return 0;
  if (KERNEL(__NR_fstat, file, &status, 0, 0) || (uint64_t)status.bytes < sizeof *header) damaged();
  long at = kernel(__NR_mmap, 0, status.bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close_file(file);
  if (at < 0 && at > -4096) give_up(index_path, ": cannot be mapped; is there memory?", "", "", "");
  const struct index_header *read = (const struct index_header *)at;
  uint64_t left = (uint64_t)status.bytes - sizeof *read;
  const uint8_t *rows = (const uint8_t *)(read + 1);
  if (memcmp(read->magic, INDEX_MAGIC, 8) || read->file_bytes != (uint64_t)status.bytes ||
      !is_power(read->slots) || !is_power(read->folder_slots) || !is_power(read->name_slots) ||
      read->slots / 2 < read->entries || read->folder_slots / 2 < read->folders ||
      !read->text_bytes || read->location[sizeof read->location - 1])
    damaged();
  entries = take(&rows, &left, read->entries, sizeof *entries);
  slots = take(&rows, &left, read->slots, sizeof *slots);
  folders = take(&rows, &left, read->folders, sizeof *folders);
  folder_slots = take(&rows, &left, read->folder_slots, sizeof *folder_slots);
  children = take(&rows, &left, read->children, sizeof *children);
  needs = take(&rows, &left, read->needs, sizeof *needs);
  names = take(&rows, &left, read->name_slots, sizeof *names);
  text = take(&rows, &left, read->text_bytes, 1);
  if (!rows || left || text[0] || text[read->text_bytes - 1]) damaged();
  header = read;
  return 1;
}

const struct index_header *index_header(void) { return header; }

GENERAL const char *text_at(uint32_t offset) {
  if (offset >= header->text_bytes) damaged();
  return text + offset;
}

/* Bounded, as a damaged table may have no free slot. */
static GENERAL int has_name(uint32_t hash) {
  uint32_t mask = header->name_slots - 1;
  for (uint32_t tried = 0, at = hash & mask; tried <= mask && names[at]; tried++, at = (at + 1) & mask)
    if (names[at] == hash) return 1;
  return 0;
}

GENERAL int may_be_removed(const char *path) {
  while (*path) {
    uint64_t hash = hash_of_nothing;
    const char *begin = path;
    for (; *path && *path != '/'; path++) hash = hashed(hash, *path);
    if (path != begin && has_name(folded(hash))) return 1;
    if (*path) path++;
  }
  return 0;
}

static void check(const struct entry *entry) {
  enum { ROOM = sizeof(struct entry) + 2 * LONGEST_PATH };
  const char *path = text_at(entry->path), *target = text_at(entry->target);
  size_t path_bytes = strlen(path) + 1, target_bytes = strlen(target) + 1, fixed;
  uint8_t digest[SHA256_BYTES], *bytes = new_memory(ROOM);
  if (!bytes) give_up(path, ": was removed, and there is no memory to put it back", "", "", "");
  fixed = offsetof(struct entry, check);
  if (path_bytes > LONGEST_PATH || target_bytes > LONGEST_PATH) damaged();
  memcpy(bytes, entry, fixed);
  memcpy(bytes + fixed, path, path_bytes);
  memcpy(bytes + fixed + path_bytes, target, target_bytes);
  sha256(bytes, fixed + path_bytes + target_bytes, digest);
  drop_memory(bytes, ROOM);
  if (memcmp(digest, entry->check, CHECK_BYTES) || entry->kind > KEPT_PROGRAM) damaged();
}

const struct entry *entry_number(uint32_t number) {
  if (number >= header->entries) damaged();
  return entries + number;
}

uint32_t number_of(const struct entry *entry) { return (uint32_t)(entry - entries); }

const struct entry *entry_at(const char *path) {
  uint32_t mask = header->slots - 1, at = hash_of(path) & mask;
  for (uint32_t tried = 0; tried <= mask && slots[at]; tried++, at = (at + 1) & mask) {
    const struct entry *entry = entry_number(slots[at] - 1);
    if (!is_same(text_at(entry->path), path)) continue;
    check(entry);
    return entry;
  }
  return NULL;
}

GENERAL const struct folder *folder_at(const char *path) {
  uint32_t mask = header->folder_slots - 1, at = hash_of(path) & mask;
  for (uint32_t tried = 0; tried <= mask && folder_slots[at]; tried++, at = (at + 1) & mask) {
    uint32_t number = folder_slots[at] - 1;
    if (number >= header->folders) damaged();
    if (is_same(text_at(folders[number].path), path)) return folders + number;
  }
  return NULL;
}

const struct entry *child_of(const struct folder *folder, uint32_t number) {
  if (number >= folder->children || (uint64_t)folder->child + number >= header->children) damaged();
  return entry_number(children[folder->child + number]);
}

const struct entry *need_of(const struct entry *entry, uint32_t number) {
  if (number >= entry->needs || (uint64_t)entry->need + number >= header->needs) damaged();
  return entry_number(needs[entry->need + number]);
}
