/* Which snapshot is of this start.
 *
 * `trimtab/snapshots/guards` has a snapshot after the other: texts that end with a zero byte, of which the
 * first letter says what they are. One that does not hold leads to the next snapshot. */
#include "snapshot_start.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "place.h"
#include "snapshot_guards.h"
#include "symbol.h"

enum { COMMAND_BYTES = 1 << 16, MOST_VARIABLES = 1 << 12 };

static const char image_variable[] = "TRIMTAB_SNAPSHOT_IMAGE=", program_variable[] = "TRIMTAB_SNAPSHOT_PROGRAM=";
static const char failed_variable[] = "TRIMTAB_SNAPSHOT_FAILED";

/* Not on the stack, which may be small. */
static char command[COMMAND_BYTES], *words[COMMAND_BYTES], *new_variables[MOST_VARIABLES];

static char **all_variables(void) {
  char ***found = dlsym ? dlsym(NULL, "environ") : NULL;
  return found ? *found : NULL;
}

/* Become the process of an image; returns if that cannot be. */
static void restore(const char *image, struct claimed *start) {
  char restorer[PATH_BYTES], first[PATH_BYTES + sizeof image_variable], second[PATH_BYTES + sizeof program_variable];
  struct text of_image = text_in(first, sizeof first), of_program = text_in(second, sizeof second);
  size_t count = 0;
  char *word = command;
  for (; word < start->command_end; word += strlen(word) + 1) words[count++] = word;
  words[count] = NULL;
  put(&of_image, image_variable);
  if (!path_of(of_image.at, 0, "trimtab/snapshots/") || !path_of(restorer, 0, "trimtab/snapshots/restore")) return;
  of_image.at += strlen(of_image.at);
  put(&of_image, image);
  put(&of_program, program_variable);
  long bytes = kernel(__NR_readlink, (long)"/proc/self/exe", (long)of_program.at, PATH_BYTES - 1, 0, 0, 0);
  if (!of_image.whole || bytes <= 0) return;
  of_program.at[bytes] = 0;
  for (count = 0; start->variables[count]; count++) {
    if (count + 3 >= MOST_VARIABLES) return;
    new_variables[count] = start->variables[count];
  }
  new_variables[count] = first, new_variables[count + 1] = second, new_variables[count + 2] = NULL;
  kernel(__NR_execve, (long)restorer, (long)words, (long)new_variables, 0, 0, 0);
}

static long read_command(void) {
  long file = open_path(AT_FDCWD, "/proc/self/cmdline", O_RDONLY, 0);
  if (file < 0) return 0;
  long bytes = kernel(__NR_read, file, (long)command, COMMAND_BYTES, 0, 0, 0);
  close_file(file);
  return bytes < COMMAND_BYTES && bytes > 0 && !command[bytes - 1] ? bytes : 0;
}

static void find_snapshot(const char *text, const char *end) {
  char **variables = all_variables();
  long bytes = variables ? read_command() : 0;
  const char *image = NULL;
  struct claimed start = {0};
  for (; bytes && text < end; text += strlen(text) + 1) {
    if (*text == '=') {
      image = text + 1;
      start = (struct claimed){variables, command + strlen(command) + 1, command + bytes, 0};
    } else if (*text == '.') {
      if (image) restore(image, &start);
    } else if (image && !holds(&start, text)) {
      image = NULL;
    }
  }
}

static void run_python(const char *text) {
  FUNCTION(int, PyRun_SimpleString, const char *);
  if (PyRun_SimpleString) PyRun_SimpleString(text);
}

void go_on_from_snapshot(void) {
  char path[PATH_BYTES];
  struct status status;
  long file;
  if (has_name(all_variables(), failed_variable)) {
    run_python("del __import__('os').environ['TRIMTAB_SNAPSHOT_FAILED']");
    return;
  }
  if (!path_of(path, 0, "trimtab/snapshots/guards") ||
      (file = open_path(AT_FDCWD, path, O_RDONLY, 0)) < 0)
    return;
  long failed = kernel(__NR_fstat, file, (long)&status, 0, 0, 0, 0);
  long at = failed || !status.bytes ? -1 : kernel(__NR_mmap, 0, status.bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close_file(file);
  if (at < 0 && at > -4096) return;
  const char *text = (const char *)at, *end = text + status.bytes;
  if (!end[-1]) find_snapshot(text, end);
  kernel(__NR_munmap, at, status.bytes, 0, 0, 0, 0);
}

int is_start_recorded(void) { return has_name(all_variables(), "TRIMTAB_SNAPSHOT"); }

void record_start(void) {
  run_python("exec(compile(__import__('io').open(__import__('os').environ['TRIMTAB_SNAPSHOT'], 'rb').read(), "
             "'<trimtab snapshot>', 'exec'), {'__name__': 'trimtab_snapshot_start'})");
}
