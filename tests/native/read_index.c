/* read_index ENVIRONMENT: reads its index of removed files as the file fallback does, under the
 * sanitizers, asks all that can be asked of it, and prints a line for each entry. Ends with 70 where it is
 * damaged. */
#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../native/file_fallback/index.h"

enum { PAGE_BYTES = 4096 };

void end_program(void) { exit(STATUS_REMOVED); }

/* The rest of the last page is mapped too, and nothing of the index. */
static void forbid_what_is_behind(const struct index_header *header) {
  const char *end = (const char *)header + header->file_bytes;
  ASAN_POISON_MEMORY_REGION(end, -header->file_bytes % PAGE_BYTES);
}

static void print_bytes(const void *bytes, size_t count) {
  printf(" x");
  for (size_t i = 0; i < count; i++) printf("%02x", ((const uint8_t *)bytes)[i]);
}

static void print_entry(const struct entry *entry) {
  static const uint8_t none[DIGEST_BYTES];
  printf("%u %u %u %u %ld %u %lu", entry->kind, entry->mode, entry->user, entry->group,
         (long)entry->modified_s, entry->modified_ns, (unsigned long)entry->bytes);
  print_bytes(entry->path, strlen(entry->path));
  print_bytes(entry->digest ? entry->digest : none, DIGEST_BYTES);
  print_bytes(entry->target, strlen(entry->target));
  for (const char *name = entry->names; *name; name += strlen(name) + 1)
    if (!is_same(name, entry->path)) print_bytes(name, strlen(name));
  for (uint32_t i = 0; i < entry->needs; i++) {
    struct entry need;
    need_of(entry, i, &need);
    printf(" needs");
    print_bytes(need.path, strlen(need.path));
  }
  puts("");
}

/* Whether all ways lead to an entry, which they do where the index was written by us. */
static int is_found(const struct entry *entry) {
  struct entry found;
  char above[LONGEST_PATH];
  if (!entry_at(entry->path, &found) || found.number != entry->number) return 0;
  memcpy(above, entry->path, sizeof above);
  above[entry->name > entry->path ? entry->name - entry->path - 1 : 0] = 0;
  const struct folder *folder = folder_at(above);
  return may_be_removed(entry->path) && folder && child_of(folder, entry->name, &found) &&
         found.number == entry->number && found.number - folder->first < children_of(folder) &&
         !entry_at("not there", &found) && !child_of(folder, "not there", &found);
}

int main(int count, char **words) {
  if (count < 2 || !map_index(words[1])) return 1;
  forbid_what_is_behind(index_header());
  for (uint32_t i = 0; i < index_header()->entries; i++) {
    struct entry entry;
    entry_number(i, &entry);
    int found = is_found(&entry);
    if (count > 2 && !found) abort();
    print_entry(&entry);
  }
  return 0;
}
