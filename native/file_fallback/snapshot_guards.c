/* Whether a start is the one that a snapshot is of: src/trimtab/debloating/snapshots/guards.py says what is
 * compared. */
#include "snapshot_guards.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <asm/unistd_64.h>
#include <fcntl.h>
#include <linux/auxvec.h>
#include <linux/prctl.h>

#include "../snapshot/machine.h"
#include "place.h"
#include "python_api.h"
#include "symbol.h"

enum {
  LAST_SIGNAL = 31,
  BROKEN_PIPE = 13,
  FILE_TOO_LARGE = 25,
  IGNORED = 1,
  MASK_BYTES = 128,
  CONTENT_BYTES = 4096,
  SYSTEM_NAME_BYTES = 65, /* of each text of uname(2) */
  THREAD_NAME_BYTES = 16,
};

/* Variables of which all are compared, as they steer Python, the dynamic linker and C libraries, some of which
 * read all variables. */
static const char *const steering[] = {"PYTHON", "LD_",  "GLIBC_", "MALLOC_", "TRIMTAB_", "LC_",
                                       "LANG",   "OMP_", "GOMP_",  "KMP_",    "MKL_",     "OPENBLAS_", "TQDM_",
                                       "TORCH",  "PYTORCH_", "CUDA_", "NETWORKX_"};

static int is_steering(const char *name) {
  if (begins_with(name, "PYTHONUNBUFFERED=")) return 0; /* streams are made again as it says */
  for (size_t i = 0; i < sizeof steering / sizeof *steering; i++)
    if (begins_with(name, steering[i])) return 1;
  return 0;
}

static int has_variable(char **variables, const char *text) {
  for (; variables && *variables; variables++)
    if (is_same(*variables, text)) return 1;
  return 0;
}

int has_name(char **variables, const char *name) {
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

static int exists(const char *path) {
  struct status status;
  return !status_of(AT_FDCWD, path, 0, &status);
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
  return (!*dot || ends_with(name, ".py") || ends_with(name, ".pyc") || ends_with(name, ".so") ||
          ends_with(name, "-info") || ends_with(name, ".egg")) &&
         !is_same(name, "__pycache__");
}

static int is_in_folder(const char *name) { return !is_same(name, ".") && !is_same(name, ".."); }

/* "DIGEST PATH": the names in a folder that count, in any order. FNV-1a of each, added. */
static int has_names(const char *text, int (*counts)(const char *name)) {
  uint8_t entries[CONTENT_BYTES];
  uint64_t wanted = number_in(&text), sum = 0;
  long folder = open_path(AT_FDCWD, text, O_RDONLY | O_DIRECTORY, 0), bytes = 0;
  if (folder < 0) return 0;
  while ((bytes = kernel(__NR_getdents64, folder, (long)entries, sizeof entries, 0, 0, 0)) > 0)
    for (long at = 0; at < bytes; at += entries[at + 16] | entries[at + 17] << 8) {
      const char *name = (const char *)entries + at + 19;
      uint64_t digest = 0xcbf29ce484222325;
      if (!counts(name)) continue;
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
  const uint64_t *vdso = getauxval ? (const uint64_t *)getauxval(AT_SYSINFO_EHDR) : NULL;
  uint64_t digests[2] = {processor_digest(), vdso_digest(vdso)};
  char digits[2 * sizeof digests + 1] = "";
  struct text shown = text_in(digits, sizeof digits);
  put_hexadecimal(&shown, (const uint8_t *)digests, sizeof digests);
  return is_same(digits, text);
}

/* "NODE RELEASE VERSION" */
static int is_system(const char *name) {
  enum { FIRST = 1, LAST = 3 };
  char texts[6 * SYSTEM_NAME_BYTES];
  if (kernel(__NR_uname, (long)texts, 0, 0, 0, 0, 0)) return 0;
  for (int i = FIRST; i <= LAST; name++, i++) {
    const char *part = texts + i * SYSTEM_NAME_BYTES;
    if (!begins_with(name, part)) return 0;
    name += strlen(part);
    if (*name != (i < LAST ? ' ' : 0)) return 0;
  }
  return 1;
}

static int has_own_name(const char *name) {
  char found[THREAD_NAME_BYTES + 1] = "";
  return !kernel(__NR_prctl, PR_GET_NAME, (long)found, 0, 0, 0, 0) && is_same(found, name);
}

/* "NUMBER": a standard stream. */
static int is_no_terminal(const char *text) {
  struct termios found;
  return kernel(__NR_ioctl, (long)number_in(&text), TCGETS, (long)&found, 0, 0, 0) < 0;
}

static int has_processors(const char *digits) {
  uint8_t mask[MASK_BYTES];
  char shown[2 * MASK_BYTES + 1] = "";
  long bytes = kernel(__NR_sched_getaffinity, 0, sizeof mask, (long)mask, 0, 0, 0);
  struct text text = text_in(shown, sizeof shown);
  if (bytes > 0) put_hexadecimal(&text, mask, (size_t)bytes);
  return bytes > 0 && (begins_with(shown, digits) || begins_with(digits, shown)); /* of any length */
}

/* "USER EFFECTIVE-USER GROUP EFFECTIVE-GROUP IGNORED-SIGNALS BLOCKED-SIGNALS", and all standard streams */
static int is_alike(const char *text) {
  static const char *const streams[] = {"stdin", "stdout", "stderr"};
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
  uint64_t blocked = 0;
  kernel(__NR_rt_sigprocmask, 0, 0, (long)&blocked, sizeof blocked, 0, 0);
  if (blocked != number_in(&text)) return 0;
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
    void *stream = py.PySys_GetObject(streams[i]); /* None if the file was closed */
    if (!stream || stream == py.none) return 0;
  }
  return 1;
}

/* Whether a text of Python is the next part of `rest`. */
static int is_next_part(void *text, const char **rest) {
  void *bytes = text ? py.PyUnicode_EncodeFSDefault(text) : NULL;
  const char *part = bytes ? py.PyBytes_AsString(bytes) : NULL;
  int is_it = part && begins_with(*rest, part);
  if (is_it) *rest += strlen(part);
  py.Py_DecRef(bytes);
  py.PyErr_Clear();
  return is_it;
}

static int is_executable(const char *path) { return is_next_part(py.PySys_GetObject("executable"), &path) && !*path; }

/* "MODULES FOLDERS": how many modules Python has, and its search path, a newline after each. */
static int has_search_path(const char *text) {
  void *folders = py.PySys_GetObject("path"), *modules = py.PySys_GetObject("modules");
  void *names = modules ? py.PyDict_Keys(modules) : NULL;
  long count = names ? py.PyList_Size(names) : -1;
  py.Py_DecRef(names);
  if (count != (long)number_in(&text)) return 0;
  for (long i = 0; folders && i < py.PyList_Size(folders); i++)
    if (!is_next_part(py.PyList_GetItem(folders, i), &text) || *text++ != '\n') return 0;
  return !*text;
}

static int is_next_word(struct claimed *start, const char *word) {
  if (start->word >= start->command_end || !is_same(start->word, word)) return 0;
  start->word += strlen(start->word) + 1;
  return 1;
}

static int has_all_steering(const struct claimed *start) {
  unsigned count = 0;
  for (char **each = start->variables; *each; each++) count += (unsigned)is_steering(*each);
  return count == start->steering;
}

/* Variables that a shell changes by itself. */
static int is_of_shell(const char *text) {
  static const char *const own[] = {"_=", "SHLVL=", "PWD=", "OLDPWD="};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (begins_with(text, own[i])) return 1;
  return 0;
}

static int has_as_many(char **variables, const char *text) {
  uint64_t wanted = number_in(&text), count = 0;
  for (; *variables; variables++) count += !is_of_shell(*variables);
  return count == wanted;
}

int holds(struct claimed *start, const char *text) {
  const char *value = text + 1;
  switch (*text) {
    case 'w': return is_next_word(start, value);
    case 'a': return start->word >= start->command_end;
    case 'x': return is_executable(value);
    case 'u': return is_alike(value);
    case 'd': return is_here(value);
    case 'm': return is_this_machine(value);
    case 'h': return is_system(value);
    case 'b': return has_own_name(value);
    case 'p': return has_search_path(value);
    case 't': return is_no_terminal(value);
    case 'q': return has_processors(value);
    case 'e': start->steering += (unsigned)is_steering(value); return has_variable(start->variables, value);
    case 'n': return !has_name(start->variables, value);
    case 's': return has_all_steering(start);
    case 'E': return has_as_many(start->variables, value);
    case 'f': return is_unchanged(value);
    case 'l': return is_absent(value);
    case 'k': return is_a_folder(value);
    case 'v': return exists(value);
    case 'g': return has_names(value, may_be_module);
    case 'G': return has_names(value, is_in_folder);
    case 'r': return has_limit(value);
    case 'c': return has_content(value);
    default: return 0;
  }
}
