#define _GNU_SOURCE
#include "events.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "give_up.h"
#include "lock.h"
#include "place.h"
#include "python.h"

static enum { STRICT, RESTORE, REPORT } behaviour;
enum { NAME_BYTES = 4096, READABLE_BYTES = 400 };

static char record_path[PATH_MAX];
static unsigned long calls;        /* of this process */
static unsigned long unsaid_calls; /* since the last message */
static char first_function[NAME_BYTES], first_library[PATH_MAX];

void start_events(void) {
  const char *chosen = getenv("TRIMTAB_FALLBACK"), *record = getenv("TRIMTAB_FALLBACK_RECORD");
  if (chosen && !strcmp(chosen, "restore")) behaviour = RESTORE;
  else if (chosen && !strcmp(chosen, "report")) behaviour = REPORT;
  else if (chosen && *chosen && strcmp(chosen, "strict"))
    fprintf(stderr, "trimtab: TRIMTAB_FALLBACK=%s: expected strict, restore or report; strict is "
                    "taken\n", chosen);
  if (record) snprintf(record_path, sizeof record_path, "%s", record);
  else if (snprintf(record_path, sizeof record_path, "%s/trimtab/fallback.jsonl",
                    environment_root) >= (int)sizeof record_path)
    *record_path = 0;
}

/* One write a line, so that the lines of several processes do not mix. */
__attribute__((format(printf, 1, 2))) static void append_line(const char *format, ...) {
  static char line[3 * PATH_MAX];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int length = snprintf(line, sizeof line, "{\"pid\": %d, \"time_s\": %lld.%03ld, ", (int)getpid(),
                        (long long)now.tv_sec, now.tv_nsec / 1000000);
  va_list arguments;
  va_start(arguments, format);
  length += vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
  va_end(arguments);
  if ((size_t)length >= sizeof line) return;
  int file = open(record_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return; /* an environment that cannot be written has no record */
  ssize_t written = write(file, line, (size_t)length);
  (void)written;
  close(file);
}

/* A JSON string may hold neither quotes, backslashes nor control characters as they are. */
static void plain(char *to, size_t to_bytes, const char *from) {
  char *end = to + to_bytes - 1;
  for (; *from && to < end; from++)
    *to++ = (unsigned char)*from < ' ' || *from == '"' || *from == '\\' ? '?' : *from;
  *to = 0;
}

static void format_message(char *text, size_t text_bytes, const char *function,
                           const char *library, unsigned long others) {
  char more[64] = "";
  const char *base_name = strrchr(library, '/');
  if (others) snprintf(more, sizeof more, ", nor %lu others called since", others);
  snprintf(text, text_bytes,
           "%.*s%s in %s was removed: no profiled run used it%s; profile the workload with it, or "
           "run with TRIMTAB_FALLBACK=restore",
           READABLE_BYTES, function, strlen(function) > READABLE_BYTES ? "..." : "",
           base_name ? base_name + 1 : library, more);
}

/* By the C++ library that the program has loaded; NULL without one, or for another name. */
static char *demangled(const char *name) {
  void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return NULL;
  char *(*demangle)(const char *, char *, size_t *, int *) =
      (char *(*)(const char *, char *, size_t *, int *))dlsym(library, "__cxa_demangle");
  int status = -1;
  char *text = demangle ? demangle(name, NULL, NULL, &status) : NULL;
  dlclose(library);
  return text;
}

/* Fill in a message about the calls since the last one; 0 when there were none. The lock is free. */
static int message_of_calls(char *text, size_t text_bytes) {
  char function[NAME_BYTES], library[PATH_MAX];
  sigset_t mask;
  take_lock(&mask);
  unsigned long count = unsaid_calls;
  memcpy(function, first_function, sizeof function);
  memcpy(library, first_library, sizeof library);
  unsaid_calls = 0;
  release_lock(&mask);
  if (!count) return 0;
  char *readable = demangled(function);
  format_message(text, text_bytes, readable ? readable : function, library, count - 1);
  free(readable);
  return 1;
}

void note_call(const struct removed_call *call) {
  static char function[NAME_BYTES], library[PATH_MAX], text[3 * PATH_MAX];
  calls++;
  plain(function, sizeof function, call->function);
  plain(library, sizeof library, call->library);
  if (behaviour != REPORT)
    append_line("\"library\": \"%s\", \"address\": %u, \"function\": \"%s\"}\n", library,
                call->address, function);
  if (behaviour != STRICT || unsaid_calls++) return;
  memcpy(first_library, library, sizeof library);
  if (*function) memcpy(first_function, function, sizeof function);
  else snprintf(first_function, sizeof first_function, "the function at 0x%x", call->address);
  if (raise_in_python(message_of_calls)) return;
  format_message(text, sizeof text, first_function, first_library, 0);
  give_up("%s", text);
}

void forget_calls(void) { calls = unsaid_calls = 0; }

__attribute__((destructor)) static void finish(void) {
  char text[3 * PATH_MAX];
  if (behaviour == REPORT && calls) append_line("\"functions\": %lu}\n", calls);
  if (message_of_calls(text, sizeof text)) fprintf(stderr, "trimtab: %s\n", text);
}
