#define _GNU_SOURCE
#include "original_identity.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../digest/sha256.h"
#include "../kernel_call/kernel_call.h"

_Static_assert(sizeof(struct watched) == 24 && sizeof(struct package) == 56, "as they are written");

enum { PATH_BYTES = 4096, WORDS_BYTES = 3 * PATH_BYTES, PART_BYTES = 1 << 14, ERROR = 2 };

/* From the C library and from Python, if the program has them. */
extern int setenv(const char *name, const char *value, int replace) __attribute__((weak));
extern int Py_IsInitialized(void) __attribute__((weak));
extern int PyGILState_Check(void) __attribute__((weak));
extern int PyRun_SimpleString(const char *code) __attribute__((weak));

static char words[WORDS_BYTES];
static size_t words_end;

/* Append a text, truncated if it does not fit. */
static void put(const char *text) {
  for (; *text && words_end < sizeof words - 1; text++) words[words_end++] = *text;
  words[words_end] = 0;
}

static void put_count(uint32_t number) {
  char digits[12], *at = digits + sizeof digits - 1;
  for (*at = 0; number; number /= 10) *--at = (char)('0' + number % 10);
  put(at);
}

static long status_of(const char *path, struct stat *status) {
  return kernel(__NR_newfstatat, AT_FDCWD, (long)path, (long)status, 0, 0, 0);
}

static long open_to_read(const char *path) {
  return kernel(__NR_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
}

/* NULL if no text begins there that ends within `bytes`. */
static const char *text_at(const void *file, uint32_t place, size_t bytes) {
  for (size_t at = place; at < bytes; at++)
    if (!((const char *)file)[at]) return (const char *)file + place;
  return NULL;
}

static long open_identity(const char *environment) {
  char path[PATH_BYTES];
  size_t end = 0;
  for (const char *from = environment; *from; from++)
    if (end < sizeof path - sizeof IDENTITY_FILE - 1) path[end++] = *from;
  path[end++] = '/';
  for (size_t i = 0; i < sizeof IDENTITY_FILE; i++) path[end + i] = IDENTITY_FILE[i];
  return open_to_read(path);
}

static int is_identity(const struct identity_header *header, size_t bytes) {
  if (bytes < sizeof *header || header->file_bytes < bytes) return 0;
  for (size_t i = 0; i < sizeof header->magic; i++)
    if (header->magic[i] != IDENTITY_MAGIC[i]) return 0;
  return header->watched <= (bytes - sizeof *header) / sizeof(struct watched);
}

/* Whether nothing was installed or removed, as in most cases. */
static int is_as_it_was(const struct identity_header *header, size_t bytes) {
  const struct watched *rows = (const struct watched *)(header + 1);
  for (uint32_t i = 0; i < header->watched; i++) {
    struct stat now;
    const char *path = text_at(header, rows[i].path, bytes);
    if (!path) return 1; /* damaged: nothing is known */
    if (status_of(path, &now) || now.st_ino != rows[i].file || now.st_mtim.tv_sec != rows[i].modified_s ||
        now.st_mtim.tv_nsec != rows[i].modified_ns)
      return 0;
  }
  return header->watched > 0;
}

static int has_digest(const char *path, const uint8_t *expected) {
  static uint8_t part[PART_BYTES];
  uint8_t digest[SHA256_BYTES];
  struct sha256 sum;
  long file = open_to_read(path), got = file;
  sha256_begin(&sum);
  while (file >= 0 && (got = kernel(__NR_read, file, (long)part, sizeof part, 0, 0, 0)) > 0)
    sha256_add(&sum, part, (size_t)got);
  if (file >= 0) kernel(__NR_close, file, 0, 0, 0, 0, 0);
  if (got < 0) return 0;
  sha256_end(&sum, digest);
  for (size_t i = 0; i < RECORD_DIGEST_BYTES; i++)
    if (digest[i] != expected[i]) return 0;
  return 1;
}

static int is_same_package(const struct package *package, const char *record) {
  struct stat now;
  if (status_of(record, &now) || (uint64_t)now.st_size != package->bytes) return 0;
  return (now.st_ino == package->file && now.st_mtim.tv_sec == package->modified_s &&
          now.st_mtim.tv_nsec == package->modified_ns) ||
         has_digest(record, package->digest);
}

static void begin_words(const char *location) {
  words_end = 0;
  put("the original environment ");
  put(location);
  put(", on which this slim one depends, ");
}

/* The packages that changed or are missing, if the original exists. */
static const char *look_closer(const struct identity_header *header, size_t bytes, size_t packages_at) {
  const char *location = text_at(header, header->location, bytes), *first = NULL;
  const struct package *rows = (const struct package *)((const char *)header + packages_at);
  uint32_t others = 0;
  struct stat now;
  if (!location) return NULL;
  begin_words(location);
  if (status_of(location, &now)) {
    put("is missing or cannot be reached. Put it back");
  } else {
    for (uint32_t i = 0; i < header->packages; i++) {
      const char *record = text_at(header, rows[i].path, bytes), *name = text_at(header, rows[i].name, bytes);
      if (!record || !name) return NULL;
      if (is_same_package(rows + i, record)) continue;
      if (first) others++;
      else first = name;
    }
    if (!first) return NULL;
    put("was changed: ");
    put(first);
    if (others) {
      put(" and ");
      put_count(others);
      put(" more packages are no longer there as they were");
    } else put(" is no longer there as it was");
    put(others ? ". Install them again as they were" : ". Install it again as it was");
  }
  put(", or run `trimtab debloat` again (with --fallback packed it depends on nothing)");
  return words;
}

static const char *problem_in(long file, const struct identity_header *head, size_t head_bytes) {
  size_t bytes = head->file_bytes;
  struct stat status;
  if (is_as_it_was(head, head_bytes)) return NULL;
  if (kernel(__NR_fstat, file, (long)&status, 0, 0, 0, 0) || (uint64_t)status.st_size != bytes) return NULL;
  long at = kernel(__NR_mmap, 0, (long)bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (at < 0 && at > -PATH_BYTES) return NULL;
  const struct identity_header *header = (const struct identity_header *)at;
  const char *problem = NULL;
  if (header->packages <= (bytes - sizeof *header) / sizeof(struct package))
    problem = look_closer(header, bytes, bytes - header->packages * sizeof(struct package));
  kernel(__NR_munmap, at, (long)bytes, 0, 0, 0, 0);
  return problem;
}

const char *original_problem(const char *environment) {
  static union {
    struct identity_header header;
    char bytes[IDENTITY_HEAD_BYTES];
  } head;
  long file = open_identity(environment);
  if (file < 0) return NULL;
  long got = kernel(__NR_read, file, (long)&head, sizeof head, 0, 0, 0);
  const char *problem = NULL;
  if (got > 0 && is_identity(&head.header, (size_t)got))
    problem = problem_in(file, &head.header, (size_t)got);
  kernel(__NR_close, file, 0, 0, 0, 0, 0);
  return problem;
}

/* Python has its own copy of the variables, made before this library was loaded. */
static void mark_as_told(void) {
  if (PyRun_SimpleString && Py_IsInitialized && PyGILState_Check && Py_IsInitialized() && PyGILState_Check())
    PyRun_SimpleString("__import__('os').environ['" TOLD_VARIABLE "'] = '1'");
  else if (setenv)
    setenv(TOLD_VARIABLE, "1", 1);
}

void check_original(const char *environment) {
  if (!original_problem(environment)) return;
  static char line[WORDS_BYTES + 16] = "trimtab: ";
  size_t end = 9;
  for (size_t i = 0; words[i]; i++) line[end++] = words[i];
  line[end++] = '\n';
  kernel(__NR_write, ERROR, (long)line, (long)end, 0, 0, 0);
  mark_as_told();
}
