#define _GNU_SOURCE
#include "program.h"

#include <asm/unistd_64.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>

#include "bring_back.h"
#include "init.h"
#include "interposer_bypass.h"

enum { MOST_INTERPRETERS = 5, PAGE_BYTES = 4096 };
static const char preload[] = "LD_PRELOAD=", libraries[] = "LD_LIBRARY_PATH=";

static const char init_program[] = "/" INIT_PROGRAM;
static int has_init;

void find_init(void) {
  struct status status;
  has_init = !*environment_root && !status_of(AT_FDCWD, init_program, 0, &status);
}

GENERAL int looks_after_children(void) { return *environment_root || has_init; }

static GENERAL size_t count_of(char *const *list) {
  size_t count = 0;
  if (!list) return 0;
  while (((count && (uintptr_t)(list + count) % PAGE_BYTES) || is_readable(list + count)) && list[count])
    count++;
  return count;
}

static const char *value_of(char *const *variables, size_t count, const char *name) {
  struct pages pages = {{0}, 0};
  for (size_t i = 0; i < count; i++)
    if (is_readable_too(variables[i], &pages) && begins_with(variables[i], name))
      return variables[i] + strlen(name);
  return NULL;
}

/* Whether `part` is in a list separated by colons and spaces, as in LD_PRELOAD. */
static int has_part(const char *list, const char *part) {
  size_t length = strlen(part);
  for (; list && *list; list++) {
    const char *end = list + length;
    if (begins_with(list, part) && (!*end || *end == ':' || *end == ' ')) return 1;
    while (*list && *list != ':' && *list != ' ') list++;
    if (!*list) break;
  }
  return 0;
}

static void put_name(struct text *text, const char *begin, const char *part) {
  if (text->at != begin) put(text, ":");
  put(text, part);
}

/* Write all parts of a list except one. */
static void put_others(struct text *text, const char *list, const char *left_out) {
  const char *begin = text->at;
  size_t length = strlen(left_out);
  while (list && *list) {
    const char *end = list;
    while (*end && *end != ':' && *end != ' ') end++;
    if ((size_t)(end - list) != length || !begins_with(list, left_out)) {
      if (text->at != begin) put(text, ":");
      put_part(text, list, (size_t)(end - list));
    }
    list = *end ? end + 1 : end;
  }
}

/* Whether the program belongs to another slim environment, which loads its own library. */
static int is_of_another(const char *path) {
  char place[PATH_BYTES];
  struct status theirs, ours;
  struct text text = text_in(place, sizeof place);
  put(&text, *path == '/' ? "" : "./");
  put(&text, path);
  cut_last(place);
  cut_last(place);
  text.at = place + strlen(place);
  put(&text, "/" INDEX_FILE);
  if (!text.whole || status_of(AT_FDCWD, place, 0, &theirs)) return 0;
  return !path_of(place, 0, INDEX_FILE) || status_of(AT_FDCWD, place, 0, &ours) ||
         theirs.device != ours.device || theirs.file != ours.file;
}

/* Programs for other processors, and their C libraries, report an error for our library. */
static int may_load_us(const uint8_t *head) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)head;
  return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
         header->e_machine == EM_X86_64;
}

/* LD_PRELOAD cannot hold such paths. */
static int has_separator(const char *path) {
  for (; *path; path++)
    if (*path == ' ' || *path == ':') return 1;
  return 0;
}

static void choose_preload(struct start *start, const char *path, const uint8_t *head,
                           char *const *variables) {
  const char *before = value_of(variables, start->variables, preload);
  char own[PATH_BYTES];
  struct status status;
  if (!*environment_root || !path_of(own, 0, OWN_LIBRARY) || has_separator(own)) return;
  int wanted = may_load_us(head) && !is_of_another(path) && sees_environment() &&
               !status_of(AT_FDCWD, own, 0, &status);
  if (wanted == has_part(before, own)) return;
  struct text text = text_in(start->preload, sizeof start->preload);
  put(&text, preload);
  const char *begin = text.at;
  put_others(&text, before, own);
  if (wanted) put_name(&text, begin, own);
  start->no_preload = text.at == begin;
  if (!text.whole) *start->preload = 0;
}

/* The dynamic linker looks for libraries at their old places before our code runs. */
static void choose_libraries(struct start *start, const struct entry *program, char *const *variables) {
  const char *before = value_of(variables, start->variables, libraries);
  struct status status;
  struct entry needed;
  char path[PATH_BYTES];
  struct text text = text_in(start->libraries, sizeof start->libraries);
  put(&text, libraries);
  const char *begin = text.at;
  if (before) put(&text, before);
  int found = 0;
  for (uint32_t i = 0; i < program->needs; i++) {
    need_of(program, i, &needed);
    const char *need = needed.path;
    if (path_of(path, 0, need) && !status_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status)) continue;
    if (!path_of(path, 1, need) || status_of(AT_FDCWD, path, 0, &status) || !is_regular(&status))
      continue;
    cut_last(path);
    if (!has_part(begin, path)) put_name(&text, begin, path);
    found = 1;
  }
  if (!found || !text.whole) *start->libraries = 0;
}

/* The words of a script's first line, as the kernel splits them. */
static int read_first_line(char *head, char word[HEAD_BYTES], char argument[HEAD_BYTES]) {
  char *end = head + 2, *name, *rest;
  while (*end && *end != '\n') end++;
  *end = 0;
  while (end > head + 2 && (end[-1] == ' ' || end[-1] == '\t')) *--end = 0;
  for (name = head + 2; *name == ' ' || *name == '\t';) name++;
  for (rest = name; *rest && *rest != ' ' && *rest != '\t';) rest++;
  if (*rest) *rest++ = 0;
  while (*rest == ' ' || *rest == '\t') rest++;
  memcpy(word, name, strlen(name) + 1);
  memcpy(argument, rest, strlen(rest) + 1);
  return *word != 0;
}

static const struct entry *entry_of(struct walk *walk, long folder, const char *path) {
  int in_overlay;
  walk->in_overlay = 0;
  if (!may_be_removed(path) || !walk_along(walk, folder, path, 1)) return NULL;
  const char *below = path_below(walk->here, &in_overlay);
  return below && sees_environment() && entry_at(below, &walk->entry) ? &walk->entry : NULL;
}

static long read_head(long folder, const char *path, int flags, char head[HEAD_BYTES]) {
  int is_open = !*path && flags & AT_EMPTY_PATH;
  long file = is_open ? folder : open_path(folder, path, O_RDONLY | O_NONBLOCK, 0);
  long bytes = file < 0 ? file : KERNEL(__NR_pread64, file, head, HEAD_BYTES - 1, 0);
  if (file >= 0 && !is_open) close_file(file);
  return bytes;
}

/* A folder for temporary files often forbids execution, as with `docker run --tmpfs`. */
static void check_executable(const char *path) {
  enum { FLAGS = 10, NO_EXECUTION = 8, WORDS = 16 }; /* of struct statfs; ST_NOEXEC */
  uint64_t found[WORDS];
  if (!KERNEL(__NR_statfs, overlay_root(), found, 0, 0) && found[FLAGS] & NO_EXECUTION)
    give_up(path, ": it, or what it needs, was removed and came back in ", overlay_root(),
            ", where nothing may be executed (noexec); name another folder with TRIMTAB_STORE_CACHE, "
            "or profile the workload with what it does now", "");
}

/* A search along PATH continues after a file that may not be executed. */
static int may_be_executed(long folder, const char *path) {
  enum { MAY_EXECUTE = 1 };
  return !KERNEL(__NR_faccessat, folder, path, MAY_EXECUTE, 0);
}

/* Not for a program with rights of its own: it would lose them. */
static int asks_for_init(long folder, const char *path) {
  enum { RIGHTS_OF_OWNERS = 06000 };
  struct status status;
  char attribute[64];
  if (!sees_environment() || !may_be_executed(folder, path)) return 0;
  long file = open_path(folder, path, O_RDONLY | O_NONBLOCK, 0);
  if (file < 0) return 0;
  int asks = !KERNEL(__NR_fstat, file, &status, 0, 0) && !(status.mode & RIGHTS_OF_OWNERS) &&
             KERNEL(__NR_fgetxattr, file, "security.capability", attribute, sizeof attribute) < 0 &&
             bypasses_interposer(file);
  close_file(file);
  return asks;
}

GENERAL void forget_start(struct start *start) {
  start->is_known = start->no_preload = start->by_init = 0;
  *start->preload = *start->libraries = *start->interpreter = *start->word = *start->argument = 0;
}

static void find_start(struct start *start, struct walk *walk, long folder, const char *path, int flags,
                       char *const *variables) {
  union {
    uint64_t aligned;
    char bytes[HEAD_BYTES];
  } head;
  char word[HEAD_BYTES], argument[HEAD_BYTES], place[PATH_BYTES];
  const char *called = path;
  long begin = folder;
  int in_overlay = 0;
  for (int scripts = 0; scripts < MOST_INTERPRETERS; scripts++) {
    const struct entry *entry = entry_of(walk, folder, path);
    if (entry && entry->needs) {
      bring_back_needs(entry);
      choose_libraries(start, entry, variables);
    }
    if (!scripts) path_below(path, &in_overlay);
    if (scripts == 1) {
      int moved = entry && walk->in_overlay && path_of(place, 1, entry->path);
      if (moved || in_overlay) {
        path = moved ? place : word;
        memcpy(start->interpreter, path, strlen(path) + 1);
        memcpy(start->word, word, HEAD_BYTES);
        memcpy(start->argument, argument, HEAD_BYTES);
      }
    }
    memset(&head, 0, sizeof head);
    if (read_head(folder, path, flags, head.bytes) <= 0) return;
    if (in_overlay || *start->interpreter || *start->libraries) check_executable(path);
    if (!begins_with(head.bytes, "#!")) {
      choose_preload(start, scripts ? word : path, (const uint8_t *)head.bytes, variables);
      start->by_init = has_init && !*start->interpreter && *called && (*called == '/' || (int)begin == AT_FDCWD) &&
                       may_be_executed(begin, called) && asks_for_init(folder, path);
      return;
    }
    if (!read_first_line(head.bytes, word, argument)) return;
    path = word;
    folder = AT_FDCWD;
    flags = 0;
  }
}

void prepare_start(struct start *start, struct walk *walk, long folder, const char *path, int flags,
                   char *const *words, char *const *variables) {
  start->variables = count_of(variables);
  find_start(start, walk, folder, path, flags, variables);
  start->words = *start->interpreter || start->by_init ? count_of(words) : 0;
  start->is_known = 1;
}

GENERAL size_t start_bytes(const struct start *start, const char *path, const char *called) {
  enum { MORE = 5 };
  size_t lists = start->variables + MORE;
  if (*start->interpreter || start->by_init) lists += start->words + MORE;
  return lists * sizeof(char *) + strlen(path) + strlen(called) + strlen(start->preload) + strlen(start->libraries) +
         strlen(start->interpreter) + strlen(start->word) + strlen(start->argument) + 9;
}

static GENERAL char *lay_text(uint8_t **room, const char *text) {
  size_t bytes = strlen(text) + 1;
  char *at = memcpy(*room, text, bytes);
  *room += bytes;
  return at;
}

GENERAL void lay_out(const struct start *start, uint8_t *room, const char *called, const char **path,
                     char *const **words, char *const **variables) {
  enum { MORE = 5 };
  size_t count = start->variables, filled = 0, number = start->words;
  char **list = (char **)room;
  room += (count + MORE) * sizeof *list;
  char **new_words = (char **)room;
  if (*start->interpreter || start->by_init) room += (number + MORE) * sizeof *new_words;
  struct pages pages = {{0}, 0};
  for (size_t i = 0; i < count; i++) {
    char *each = (*variables)[i];
    int is_readable_text = (*start->preload || *start->libraries) && is_readable_too(each, &pages);
    if ((*start->preload && is_readable_text && begins_with(each, preload)) ||
        (*start->libraries && is_readable_text && begins_with(each, libraries)))
      continue;
    list[filled++] = each;
  }
  if (*start->preload && !start->no_preload) list[filled++] = lay_text(&room, start->preload);
  if (*start->libraries) list[filled++] = lay_text(&room, start->libraries);
  list[filled] = NULL;
  *variables = list;
  *path = lay_text(&room, *path);
  if (!*start->interpreter && !start->by_init) return;
  filled = 0;
  if (start->by_init) {
    static char option[] = INIT_CALLED;
    new_words[filled++] = (char *)init_program;
    new_words[filled++] = option;
    new_words[filled++] = number ? (*words)[0] : lay_text(&room, "");
    new_words[filled++] = (char *)*path;
    *path = init_program;
  } else {
    *path = lay_text(&room, start->interpreter);
    new_words[filled++] = lay_text(&room, start->word);
    if (*start->argument) new_words[filled++] = lay_text(&room, start->argument);
    new_words[filled++] = lay_text(&room, called);
  }
  for (size_t i = 1; i < number; i++) new_words[filled++] = (*words)[i];
  new_words[filled] = NULL;
  *words = new_words;
}
