/* A program that is one file: it holds a dynamic linker, a program, the libraries and modules that
 * this needs, and executes them from memory. It needs no other file; /proc has to be mounted.
 *
 * trimtab.debloating.shipping.node_program.program_file appends the parts to this file. Each becomes
 * a file in memory (memfd_create(2)), sealed against writing, that others open as /proc/self/fd/NUMBER.
 * Nothing is written to a disk, so folders that forbid programs or writing do not matter. */
#define _GNU_SOURCE
#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>

#include "../digest/sha256.h"
#include "../fallback/lz4.h"
#include "../file_fallback/system.h"

#ifndef MFD_EXEC /* Linux 6.3 */
#define MFD_EXEC 0x10u
#endif

enum { STATUS_UNUSABLE = 2, NAME_BYTES = 56, MOST_PARTS = 512, LIST_BYTES = 1 << 16, OWN_WORDS = 16, OWN_VALUES = 4,
       FIRST = 3 };
enum kind { LOADER, PROGRAM, LIBRARY, MODULE, ARCHIVE };

/* As program_file.py writes them, little-endian. */
struct part {
  char name[NAME_BYTES];
  uint64_t kind, offset, packed_bytes, bytes;
};
struct trailer {
  uint64_t table, count; /* offset and number of the parts */
  uint8_t digest[SHA256_BYTES]; /* of all bytes before it */
  char magic[16];
};
static const char magic[16] = "trimtab program";

struct file {
  const uint8_t *data;
  size_t bytes;
  const struct part *parts;
  size_t count;
};

__attribute__((noreturn)) static void refuse(const char *what, const char *then, long error) {
  char line[256];
  struct text text = text_in(line, sizeof line);
  put(&text, "error: ");
  put(&text, what);
  if (error) {
    put(&text, " (error ");
    put_number(&text, (uint64_t)-error, 1);
    put(&text, ")");
  }
  put(&text, "; ");
  put(&text, then);
  put(&text, "\n");
  KERNEL(__NR_write, 2, line, text.at - line, 0);
  for (;;) KERNEL(__NR_exit_group, STATUS_UNUSABLE, 0, 0, 0);
}

__attribute__((noreturn)) static void refuse_damaged(void) {
  refuse("this program's file is damaged", "copy it again", 0);
}

static struct file read_own_file(void) {
  long file = KERNEL(__NR_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) refuse("cannot read /proc/self/exe", "mount /proc", file);
  struct status status;
  long error = KERNEL(__NR_fstat, file, &status, 0, 0);
  if (error) refuse("cannot read /proc/self/exe", "mount /proc", error);
  struct file own = {.bytes = (size_t)status.bytes};
  struct trailer trailer;
  if (own.bytes < sizeof trailer) refuse_damaged();
  long at = kernel(__NR_mmap, 0, status.bytes, PROT_READ, MAP_PRIVATE, file, 0);
  if (at < 0 && at > -4096) refuse("no memory", "give it more", at);
  KERNEL(__NR_close, file, 0, 0, 0);
  own.data = (const uint8_t *)at;
  memcpy(&trailer, own.data + own.bytes - sizeof trailer, sizeof trailer);
  uint8_t digest[SHA256_BYTES];
  size_t checked_bytes = own.bytes - sizeof trailer.digest - sizeof trailer.magic;
  if (memcmp(trailer.magic, magic, sizeof magic)) refuse_damaged();
  sha256(own.data, checked_bytes, digest);
  if (memcmp(digest, trailer.digest, sizeof digest)) refuse_damaged();
  if (trailer.count > MOST_PARTS || trailer.table % 8 || trailer.table > own.bytes ||
      trailer.count * sizeof(struct part) > own.bytes - trailer.table)
    refuse_damaged();
  own.parts = (const struct part *)(own.data + trailer.table);
  own.count = trailer.count;
  return own;
}

/* The descriptor of a sealed file in memory with a part's bytes. It stays open across execve(2). */
static long open_part(const struct file *own, const struct part *part) {
  if (part->offset > own->bytes || part->packed_bytes > own->bytes - part->offset || !part->bytes ||
      part->bytes > INT32_MAX || part->name[NAME_BYTES - 1])
    refuse_damaged();
  long file = KERNEL(__NR_memfd_create, part->name, MFD_ALLOW_SEALING | MFD_EXEC, 0, 0);
  if (file == -EINVAL) file = KERNEL(__NR_memfd_create, part->name, MFD_ALLOW_SEALING, 0, 0);
  if (file >= 0 && file < FIRST) { /* a closed standard stream's number */
    long moved = KERNEL(__NR_fcntl, file, F_DUPFD, FIRST, 0);
    KERNEL(__NR_close, file, 0, 0, 0);
    file = moved;
  }
  if (file == -EMFILE) refuse("it may open too few files", "raise the limit (ulimit -n)", 0);
  if (file < 0)
    refuse("the kernel forbids programs in memory", "allow memfd_create, and set vm.memfd_noexec below 2", file);
  if (!may_grow(file, part->bytes)) refuse("it may write too small files only", "raise the limit (ulimit -f)", 0);
  long error = KERNEL(__NR_ftruncate, file, part->bytes, 0, 0);
  long at = error ? error : kernel(__NR_mmap, 0, (long)part->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at < 0 && at > -4096) refuse("no memory", "give it more", at);
  if (lz4_block(own->data + part->offset, part->packed_bytes, (uint8_t *)at, part->bytes) != part->bytes)
    refuse_damaged();
  drop_memory((void *)at, part->bytes);
  error = KERNEL(__NR_fcntl, file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, 0);
  if (error) refuse("cannot seal a file in memory", "report it", error);
  return file;
}

static void put_path(struct text *text, long file) {
  put(text, "/proc/self/fd/");
  put_number(text, (uint64_t)file, 1);
}

/* What the node's own Python and linker were told, which are not these. */
static int is_of_others(const char *value) {
  return begins_with(value, "PYTHON") || begins_with(value, "LD_") || begins_with(value, "GLIBC_TUNABLES=") ||
         begins_with(value, "TRIMTAB_MODULES=");
}

struct lists {
  char libraries[LIST_BYTES], modules[LIST_BYTES], program[64], home[64], path[64];
};

static void execute(int count, char **words, char **values) {
  static struct lists lists;
  struct text libraries = text_in(lists.libraries, LIST_BYTES), modules = text_in(lists.modules, LIST_BYTES);
  struct text program = text_in(lists.program, sizeof lists.program), home = text_in(lists.home, sizeof lists.home),
              path = text_in(lists.path, sizeof lists.path);
  put(&modules, "TRIMTAB_MODULES=");
  put(&home, "PYTHONHOME=");
  put(&path, "PYTHONPATH=");
  struct file own = read_own_file();
  long loader = -1;
  for (size_t i = 0; i < own.count; i++) {
    long file = open_part(&own, own.parts + i);
    switch (own.parts[i].kind) {
    case LOADER: loader = file; break;
    case PROGRAM: put_path(&program, file); break;
    case LIBRARY:
      if (libraries.at != libraries.begin) put(&libraries, ":");
      put_path(&libraries, file);
      break;
    case MODULE:
      put(&modules, own.parts[i].name);
      put(&modules, "=");
      put_number(&modules, (uint64_t)file, 1);
      put(&modules, ":");
      break;
    case ARCHIVE:
      put_path(&home, file);
      put_path(&path, file);
      break;
    default: refuse_damaged();
    }
  }
  if (loader < 0 || !libraries.whole || !modules.whole) refuse_damaged();

  size_t value_count = 0;
  while (values[value_count]) value_count++;
  char **all = new_memory(((size_t)count + OWN_WORDS + value_count + OWN_VALUES) * sizeof *all);
  if (!all) refuse("no memory", "give it more", -ENOMEM);
  char **word = all, **given = all + count + OWN_WORDS, **value = given;
  *word++ = count ? words[0] : (char *)"cold-store";
  *word++ = (char *)"--inhibit-cache"; /* it names this machine's libraries */
  *word++ = (char *)"--preload";
  *word++ = lists.libraries;
  *word++ = lists.program;
  *word++ = (char *)"-PSB"; /* no module of the working directory, no site, no byte code on disk */
  *word++ = (char *)"-Xutf8";
  *word++ = (char *)"-c";
  *word++ = (char *)"from trimtab.cold_store.bundled import main; main()";
  for (int i = 1; i < count; i++) *word++ = words[i];
  for (size_t i = 0; i < value_count; i++)
    if (!is_of_others(values[i])) *value++ = values[i];
  *value++ = lists.modules;
  *value++ = lists.home;
  *value++ = lists.path;
  long error = kernel(__NR_execveat, loader, (long)"", (long)all, (long)given, AT_EMPTY_PATH, 0);
  refuse("the kernel forbids programs in memory", "allow execveat, and set vm.memfd_noexec below 2", error);
}

__attribute__((noreturn, used)) static void run(long *stack) {
  int count = (int)stack[0];
  char **words = (char **)(stack + 1);
  execute(count, words, words + count + 1);
  for (;;) KERNEL(__NR_exit_group, STATUS_UNUSABLE, 0, 0, 0);
}

__asm__(".globl _start\n"
        "_start:\n\t"
        "xor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall run\n");
