#define _GNU_SOURCE
#include "record.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "fetch.h"
#include "index.h"
#include "place.h"

extern char **environ __attribute__((weak));

enum { LINE_BYTES = 4 * PATH_BYTES + 256 };

static enum { RESTORE, STRICT, REPORT } behaviour;
static char record_path[PATH_BYTES], hook[PATH_BYTES], **all_variables;
static unsigned long misses;
static long counting; /* the process that counts */
static int is_in_own_folder; /* the record, as the environment cannot be written */

/* If no other was named. */
static void choose_record(void) {
  is_in_own_folder = !may_write_environment();
  if (!is_in_own_folder) {
    if (!path_of(record_path, 0, "trimtab/fallback.jsonl")) *record_path = 0;
    return;
  }
  name_own_folder(record_path);
  struct text text = {record_path, record_path + strlen(record_path), record_path + sizeof record_path, 1};
  put(&text, "/fallback.jsonl");
}

int notes_mapped;

int start_record(char **variables) {
  const char *chosen = variable(variables, "TRIMTAB_FALLBACK");
  const char *record = variable(variables, "TRIMTAB_FALLBACK_RECORD");
  const char *run_at_end = variable(variables, "TRIMTAB_FALLBACK_HOOK");
  all_variables = variables;
  notes_mapped = variable(variables, "TRIMTAB_MAPPED_RECORD") != NULL;
  if (chosen && is_same(chosen, "strict")) behaviour = STRICT;
  else if (chosen && is_same(chosen, "report")) behaviour = REPORT;
  else if (chosen && !is_same(chosen, "restore"))
    say("TRIMTAB_FALLBACK=", chosen, ": expected restore, strict or report; restore is taken", "", "");
  struct text text;
  if (record) text = text_in(record_path, sizeof record_path), put(&text, record);
  else if (behaviour == STRICT) choose_record(); /* `end_with_child` reads it too */
  if (run_at_end) text = text_in(hook, sizeof hook), put(&text, run_at_end);
  return behaviour == STRICT;
}

static void begin_line(struct text *line) {
  struct timespec now;
  KERNEL(__NR_clock_gettime, CLOCK_REALTIME, &now, 0, 0);
  put(line, "{\"pid\": ");
  put_number(line, (uint64_t)KERNEL(__NR_getpid, 0, 0, 0, 0), 1);
  put(line, ", \"time_s\": ");
  put_number(line, (uint64_t)now.tv_sec, 1);
  put(line, ".");
  put_number(line, (uint64_t)now.tv_nsec / 1000000, 3);
}

/* One write per line, so that lines of several processes do not mix. */
static void append(const struct text *line) {
  size_t bytes = (size_t)(line->at - line->begin);
  if (!*record_path) choose_record();
  if (!line->whole || !*record_path || (is_in_own_folder && !has_own_folder())) return;
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | (is_in_own_folder ? O_NOFOLLOW : 0);
  long file = open_path(AT_FDCWD, record_path, flags, 0644);
  if (file < 0) return;
  if (may_grow(file, bytes)) KERNEL(__NR_write, file, line->begin, bytes, 0);
  close_file(file);
}

void put_miss(struct text *line, const char *path, uint32_t kind) {
  static const char *const kinds[] = {"file", "link", "folder"};
  begin_line(line);
  put(line, ", \"file\": \"");
  put_json(line, path);
  put(line, "\", \"kind\": \"");
  put(line, kinds[kind]);
  put(line, "\"}\n");
}

int note_miss(const char *path, uint32_t kind) {
  char *buffer = new_memory(LINE_BYTES);
  long process = KERNEL(__NR_getpid, 0, 0, 0, 0);
  if (process != counting) misses = 0; /* a forked child starts at 0 */
  counting = process;
  misses++;
  if (buffer && behaviour != REPORT) {
    struct text line = text_in(buffer, LINE_BYTES);
    put_miss(&line, path, kind);
    append(&line);
  }
  if (buffer) drop_memory(buffer, LINE_BYTES);
  if (behaviour == STRICT)
    give_up(path, " was removed: no profiled run used it; profile the workload with it, or run with "
            "TRIMTAB_FALLBACK=restore", "", "", "");
  return 1;
}

static void append_count(void) {
  char *buffer = new_memory(LINE_BYTES);
  if (!buffer) return;
  struct text line = text_in(buffer, LINE_BYTES);
  begin_line(&line);
  put(&line, ", \"files\": ");
  put_number(&line, misses, 1);
  put(&line, "}\n");
  append(&line);
  drop_memory(buffer, LINE_BYTES);
}

/* Each process that ends so writes a line, for its own waiting parent. */
__attribute__((noreturn)) static void end_likewise(const char *child) {
  misses = 0;
  append_count();
  give_up("process ", child, " of this program asked for what was removed; it ends as that did "
          "(TRIMTAB_FALLBACK=strict)", "", "");
}

GENERAL void end_with_child(long child) {
  enum { TAIL_BYTES = 1 << 16 };
  struct status status;
  char begin[64], number[32];
  struct text text = text_in(number, sizeof number);
  put_number(&text, (uint64_t)child, 1);
  text = text_in(begin, sizeof begin);
  put(&text, "{\"pid\": ");
  put(&text, number);
  put(&text, ",");
  long file = KERNEL(__NR_openat, AT_FDCWD, record_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  char *tail = file < 0 ? NULL : new_memory(TAIL_BYTES + 1);
  if (tail && !KERNEL(__NR_fstat, file, &status, 0, 0)) {
    long at = status.bytes > TAIL_BYTES ? status.bytes - TAIL_BYTES : 0;
    long bytes = kernel(__NR_pread64, file, (long)tail, TAIL_BYTES, at, 0, 0);
    for (long i = 0; i < bytes; i++)
      if (begins_with(tail + i, begin)) end_likewise(number);
  }
  if (tail) drop_memory(tail, TAIL_BYTES + 1);
  if (file >= 0) KERNEL(__NR_close, file, 0, 0, 0);
}

__attribute__((destructor)) static void finish(void) {
  char *arguments[] = {hook, record_path, NULL};
  if (!misses || KERNEL(__NR_getpid, 0, 0, 0, 0) != counting) return;
  append_count();
  /* The variables of the start are elsewhere once the program has set one. */
  if (*hook) run(arguments, &environ && environ ? environ : all_variables);
}
