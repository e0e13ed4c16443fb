/* read_index ENVIRONMENT: reads its index of removed files as the file fallback does, under the
 * sanitizers, and asks all that can be asked of it. Ends with 70 where it is damaged. */
#include <sanitizer/asan_interface.h>
#include <stdlib.h>

#include "../../native/file_fallback/index.h"

enum { PAGE_BYTES = 4096 };

void end_program(void) { exit(STATUS_REMOVED); }

/* The rest of the last page is mapped too, and nothing of the index. */
static void forbid_what_is_behind(const struct index_header *header) {
  const char *end = (const char *)header + header->file_bytes;
  ASAN_POISON_MEMORY_REGION(end, -header->file_bytes % PAGE_BYTES);
}

static void ask_of_path(const char *path) {
  const struct entry *entry = entry_at(path);
  const struct folder *folder = folder_at(path);
  if (entry && (!is_same(text_at(entry->path), path) || number_of(entry) >= index_header()->entries))
    abort();
  for (uint32_t i = 0; entry && i < entry->needs; i++) text_at(need_of(entry, i)->path);
  for (const char *name = entry ? text_at(entry->names) : ""; *name; name += strlen(name) + 1) continue;
  for (uint32_t i = 0; folder && i < folder->children; i++) text_at(child_of(folder, i)->path);
}

int main(int count, char **words) {
  if (count < 2 || !map_index(words[1])) return 1;
  const struct index_header *header = index_header();
  forbid_what_is_behind(header);
  ask_of_path("");
  for (uint32_t i = 0; i < header->entries; i++) {
    const char *path = text_at(entry_number(i)->path);
    may_be_removed(path);
    ask_of_path(path);
  }
  return 0;
}
