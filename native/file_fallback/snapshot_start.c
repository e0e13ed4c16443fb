/* Which snapshot is of this start: src/trimtab/debloating/snapshots/guards.py says what is compared.
 *
 * `trimtab/snapshots/guards` has a snapshot after the other: texts that end with a zero byte, of which the
 * first letter says what they are. One that does not hold leads to the next snapshot. */
#include "snapshot_start.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <linux/auxvec.h>
#include <sys/mman.h>

#include "../snapshot/machine.h"
#include "place.h"
#include "python_api.h"
#include "symbol.h"

enum {
  COMMAND_BYTES = 1 << 16,
  LAST_SIGNAL = 31,
  BROKEN_PIPE = 13,
  FILE_TOO_LARGE = 25,
  IGNORED = 1,
  MOST_VARIABLES = 1 << 12,
  MASK_BYTES = 128,
  CONTENT_BYTES = 4096,
  NODE_NAME = 65, /* where uname(2) puts it, and the length of each text */
};

static const char image_variable[] = "TRIMTAB_SNAPSHOT_IMAGE=", program_variable[] = "TRIMTAB_SNAPSHOT_PROGRAM=";
/* Variables of which all are compared, as they steer Python, the dynamic linker and the C library. */
static const char *const steering[] = {"PYTHON", "LD_", "GLIBC_", "MALLOC_", "TRIMTAB_", "LC_", "LANG"};

static char command[COMMAND_BYTES];

struct start {
  char **variables;
  const char *word, *command_end; /* the next word of the command */
  unsigned steering; /* variables that were found */
};

static char **all_variables(void) {
  char ***found = dlsym ? dlsym(NULL, "environ") : NULL;
  return found ? *found : NULL;
}

static int is_steering(const char *name) {
  for (size_t i = 0; i < sizeof steering / sizeof *steering; i++)
    if (begins_with(name, steering[i])) return 1;
  return 0;
}

static int has_variable(char **variables, const char *text) {
  for (; variables && *variables; variables++)
    if (is_same(*variables, text)) return 1;
  return 0;
}

static int has_name(char **variables, const char *name) {
  size_t bytes = strlen(name);
  for (; variables && *variables; variables++)
    if (begins_with(*variables, name) && (*variables)[bytes] == '=') return 1;
  return 0;
}

static uint64_t number_in(const char **text) {
  uint64_t number = 0;
  for (; **text >= '0' && **text <= '9'; (*text)++) number = number * 10 + (uint64_t)(**text - '0');
  if (**text == ' ') (*text)++;
  return number;
}

/* "SIZE SECONDS NANOSECONDS PATH" */
static int is_unchanged(const char *text) {
  struct status status;
  uint64_t bytes = number_in(&text), seconds = number_in(&text), nanoseconds = number_in(&text);
  return !status_of(AT_FDCWD, text, 0, &status) && ((uint64_t)status.bytes == bytes || is_folder(&status)) &&
         (uint64_t)status.modified[0] == seconds && (uint64_t)status.modified[1] == nanoseconds;
}

static int is_absent(const char *path) {
  struct status status;
  return status_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status) < 0;
}

static int is_a_folder(const char *path) {
  struct status status;
  return !status_of(AT_FDCWD, path, 0, &status) && is_folder(&status);
}

static int ends_with(const char *name, const char *end) {
  size_t bytes = strlen(name), of_end = strlen(end);
  return bytes >= of_end && !memcmp(name + bytes - of_end, end, of_end);
}

static int may_be_module(const char *name) {
  const char *dot = name;
  while (*dot && *dot != '.') dot++;
  return (!*dot || ends_with(name, ".py") || ends_with(name, ".pyc") || ends_with(name, ".so")) &&
         !is_same(name, "__pycache__");
}

/* "DIGEST PATH": the names of modules that a folder may have, in any order. FNV-1a of each, added. */
static int has_names(const char *text) {
  uint8_t entries[CONTENT_BYTES];
  uint64_t wanted = number_in(&text), sum = 0;
  long folder = open_path(AT_FDCWD, text, O_RDONLY | O_DIRECTORY, 0), bytes = 0;
  if (folder < 0) return 0;
  while ((bytes = kernel(__NR_getdents64, folder, (long)entries, sizeof entries, 0, 0, 0)) > 0)
    for (long at = 0; at < bytes; at += entries[at + 16] | entries[at + 17] << 8) {
      const char *name = (const char *)entries + at + 19;
      uint64_t digest = 0xcbf29ce484222325;
      if (!may_be_module(name)) continue;
      for (const char *each = name; *each; each++) digest = (digest ^ (uint8_t)*each) * 0x100000001b3;
      sum += digest;
    }
  close_file(folder);
  return !bytes && sum == wanted;
}

/* "RESOURCE SOFT HARD" */
static int has_limit(const char *text) {
  uint64_t limit[2], resource = number_in(&text), soft = number_in(&text), hard = number_in(&text);
  return !kernel(__NR_prlimit64, 0, (long)resource, 0, (long)limit, 0, 0) && limit[0] == soft && limit[1] == hard;
}

/* "DIGITS PATH": small files that the kernel makes. */
static int has_content(const char *text) {
  uint8_t content[CONTENT_BYTES];
  char digits[2 * CONTENT_BYTES + 1];
  const char *path = text;
  while (*path && *path != ' ') path++;
  long file = *path ? open_path(AT_FDCWD, path + 1, O_RDONLY, 0) : -1;
  if (file < 0) return 0;
  long bytes = kernel(__NR_read, file, (long)content, CONTENT_BYTES, 0, 0, 0);
  close_file(file);
  struct text shown = text_in(digits, sizeof digits);
  if (bytes > 0) put_hexadecimal(&shown, content, (size_t)bytes);
  return bytes >= 0 && shown.at - shown.begin == path - text && !memcmp(digits, text, (size_t)(path - text));
}

static int is_here(const char *path) {
  char here[PATH_BYTES];
  return kernel(__NR_getcwd, (long)here, sizeof here, 0, 0, 0, 0) > 0 && is_same(here, path);
}

static int is_this_machine(const char *text) {
  FUNCTION(unsigned long, getauxval, unsigned long);
  uint64_t digests[2] = {processor_digest(), vdso_digest(getauxval ? (const uint64_t *)getauxval(AT_SYSINFO_EHDR) : NULL)};
  char digits[2 * sizeof digests + 1] = "";
  struct text shown = text_in(digits, sizeof digits);
  put_hexadecimal(&shown, (const uint8_t *)digests, sizeof digests);
  return is_same(digits, text);
}

static int is_node(const char *name) {
  char texts[6 * NODE_NAME];
  return !kernel(__NR_uname, (long)texts, 0, 0, 0, 0, 0) && is_same(texts + NODE_NAME, name);
}

static int has_processors(const char *digits) {
  uint8_t mask[MASK_BYTES];
  char shown[2 * MASK_BYTES + 1] = "";
  long bytes = kernel(__NR_sched_getaffinity, 0, sizeof mask, (long)mask, 0, 0, 0);
  struct text text = text_in(shown, sizeof shown);
  if (bytes > 0) put_hexadecimal(&text, mask, (size_t)bytes);
  return bytes > 0 && (begins_with(shown, digits) || begins_with(digits, shown)); /* of any length */
}

/* "USER EFFECTIVE-USER GROUP EFFECTIVE-GROUP IGNORED-SIGNALS" */
static int is_alike(const char *text) {
  static const int calls[] = {__NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (number_in(&text) != (uint64_t)kernel(calls[i], 0, 0, 0, 0, 0, 0)) return 0;
  uint64_t ignored = number_in(&text);
  for (int signal = 1; signal <= LAST_SIGNAL; signal++) {
    uint64_t handler[4] = {0};
    if (signal == BROKEN_PIPE || signal == FILE_TOO_LARGE) continue; /* Python ignores these itself */
    kernel(__NR_rt_sigaction, signal, 0, (long)handler, 8, 0, 0);
    if ((handler[0] == IGNORED) != (ignored >> signal & 1)) return 0;
  }
  for (int file = 0; file < 3; file++)
    if (kernel(__NR_fcntl, file, F_GETFD, 0, 0, 0, 0) < 0) return 0;
  return 1;
}

static int is_executable(const char *path) {
  void *text = py.PySys_GetObject("executable"), *bytes = text ? py.PyUnicode_EncodeFSDefault(text) : NULL;
  int is_it = bytes && is_same(py.PyBytes_AsString(bytes), path);
  py.Py_DecRef(bytes);
  return is_it;
}

static int is_next_word(struct start *start, const char *word) {
  if (start->word >= start->command_end || !is_same(start->word, word)) return 0;
  start->word += strlen(start->word) + 1;
  return 1;
}

static int has_all_steering(const struct start *start) {
  unsigned count = 0;
  for (char **each = start->variables; *each; each++) count += (unsigned)is_steering(*each);
  return count == start->steering;
}

static int holds(struct start *start, const char *text) {
  const char *value = text + 1;
  switch (*text) {
    case 'w': return is_next_word(start, value);
    case 'a': return start->word >= start->command_end;
    case 'x': return is_executable(value);
    case 'u': return is_alike(value);
    case 'd': return is_here(value);
    case 'm': return is_this_machine(value);
    case 'h': return is_node(value);
    case 'q': return has_processors(value);
    case 'e': start->steering += (unsigned)is_steering(value); return has_variable(start->variables, value);
    case 'n': return !has_name(start->variables, value);
    case 's': return has_all_steering(start);
    case 'f': return is_unchanged(value);
    case 'l': return is_absent(value);
    case 'k': return is_a_folder(value);
    case 'g': return has_names(value);
    case 'r': return has_limit(value);
    case 'c': return has_content(value);
    default: return 0;
  }
}

/* Become the process of an image; returns if that cannot be. */
static void restore(const char *image, struct start *start) {
  char restorer[PATH_BYTES], first[PATH_BYTES + sizeof image_variable], second[PATH_BYTES + sizeof program_variable];
  char *words[COMMAND_BYTES / 2], *variables[MOST_VARIABLES];
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
  variables[0] = first, variables[1] = second;
  for (count = 0; start->variables[count]; count++) {
    if (count + 3 >= MOST_VARIABLES) return;
    variables[count + 2] = start->variables[count];
  }
  variables[count + 2] = NULL;
  kernel(__NR_execve, (long)restorer, (long)words, (long)variables, 0, 0, 0);
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
  struct start start = {0};
  for (; bytes && text < end; text += strlen(text) + 1) {
    if (*text == '=') {
      image = text + 1;
      start = (struct start){variables, command + strlen(command) + 1, command + bytes, 0};
    } else if (*text == '.') {
      if (image) restore(image, &start);
    } else if (image && !holds(&start, text)) {
      image = NULL;
    }
  }
}

void go_on_from_snapshot(void) {
  char path[PATH_BYTES];
  struct status status;
  char **variables = all_variables();
  long file;
  if (has_name(variables, "TRIMTAB_SNAPSHOT_FAILED") || !path_of(path, 0, "trimtab/snapshots/guards") ||
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
  FUNCTION(int, PyRun_SimpleString, const char *);
  if (PyRun_SimpleString)
    PyRun_SimpleString("exec(compile(__import__('io').open(__import__('os').environ['TRIMTAB_SNAPSHOT'], 'rb').read(), "
                       "'<trimtab snapshot>', 'exec'), {'__name__': 'trimtab_snapshot_start'})");
}
