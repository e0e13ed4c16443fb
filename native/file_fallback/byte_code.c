#include "byte_code.h"

#include <asm/unistd_64.h>
#include <fcntl.h>

#include "absent.h"
#include "place.h"

static const char cache_name[] = "__pycache__/", byte_code_ending[] = ".pyc", source_ending[] = ".py";

static int ends_with(const char *text, const char *ending) {
  size_t length = strlen(text), end = strlen(ending);
  return length >= end && is_same(text + length - end, ending);
}

int is_byte_code(const struct entry *entry) {
  size_t before = (size_t)(entry->name - entry->path);
  return before >= sizeof cache_name - 1 && begins_with(entry->name - (sizeof cache_name - 1), cache_name) &&
         ends_with(entry->name, byte_code_ending);
}

/* Whether a folder lists a file whose name has this beginning, and the ending of byte code. */
static int lists_byte_code(long folder, const char *beginning) {
  uint64_t list[512];
  long filled;
  while ((filled = KERNEL(__NR_getdents64, folder, list, sizeof list, 0)) > 0)
    for (long at = 0; at < filled;) {
      const struct listed *listed = (const struct listed *)((const uint8_t *)list + at);
      if (begins_with(listed->name, beginning) && ends_with(listed->name, byte_code_ending)) return 1;
      at += listed->bytes;
    }
  return 0;
}

int has_byte_code(const struct entry *entry) {
  char place[PATH_BYTES], beginning[NAME_BYTES];
  if (!ends_with(entry->name, source_ending) || !path_of(place, 0, "")) return 0;
  struct text text = {place, place + strlen(place), place + PATH_BYTES, 1};
  put_part(&text, entry->path, (size_t)(entry->name - entry->path));
  put_part(&text, cache_name, sizeof cache_name - 2); /* without the slash */
  struct text name = text_in(beginning, sizeof beginning);
  put_part(&name, entry->name, strlen(entry->name) - (sizeof source_ending - 2)); /* with the dot */
  if (!text.whole || !name.whole) return 0;
  long folder = open_path(AT_FDCWD, place, O_RDONLY | O_DIRECTORY, 0);
  if (folder < 0) return 0;
  int found = lists_byte_code(folder, beginning);
  close_file(folder);
  return found;
}
