/* System calls, and replacements for a C library's memory and text functions. This library is
 * loaded before the C library is ready, into programs with any version of it, and answers in the
 * middle of its functions: so it calls none of them. */
#ifndef TRIMTAB_SYSTEM_H
#define TRIMTAB_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#include "../kernel_call/kernel_call.h"

/* For functions that change no vector register: the C library keeps values in these across a system
 * call. */
#define GENERAL __attribute__((target("general-regs-only")))

/* As a call's sixth argument, which none with a path has: the filter of ../file_init lets it pass. */
#define NOT_ASKED 0x54524d54a55edL

#define KERNEL(number, a, b, c, d) \
  kernel(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, NOT_ASKED)

/* The kernel's format for stat(2); glibc's structure is the same on x86-64. */
struct status {
  uint64_t device, file, links;
  uint32_t mode, user, group, unused;
  uint64_t special;
  int64_t bytes, block_bytes, blocks;
  int64_t accessed[2], modified[2], changed[2], reserved[3];
};
GENERAL int is_folder(const struct status *status);
int is_regular(const struct status *status);
GENERAL long status_of(long folder, const char *path, int flags, struct status *status);

/* open(2) of a file that is closed soon. If the program has reached its limit of open files, the
 * limit is raised briefly, if possible. */
long open_path(long folder, const char *path, int flags, unsigned mode);
void close_file(long file);

/* Whether a file may grow by so many bytes: a process that writes beyond RLIMIT_FSIZE gets
 * SIGXFSZ. */
int may_grow(long file, uint64_t bytes);

/* New zeroed memory; NULL if the process may have no more. */
GENERAL void *new_memory(size_t bytes);
GENERAL void drop_memory(void *at, size_t bytes);

/* Whether the kernel finds a path that contains no link: 0, or -ELOOP, -ENOENT and so on. `flags`
 * may be O_DIRECTORY. */
GENERAL long find_without_links(long folder, const char *path, int flags);

GENERAL int is_readable(const void *address);

/* Pages that were readable a moment ago; none at first. */
struct pages {
  uintptr_t known[8];
  unsigned next;
};

/* The same with one system call for texts that are close together. */
GENERAL int is_readable_too(const void *address, struct pages *pages);

/* -1 if `text` has no end within `limit` readable bytes. */
GENERAL long length_of(const char *text, size_t limit);

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
GENERAL size_t strlen(const char *text);
#define memcpy(to, from, bytes) __builtin_memcpy(to, from, bytes)
#define memset(to, byte, bytes) __builtin_memset(to, byte, bytes)
GENERAL int is_same(const char *a, const char *b);
GENERAL int begins_with(const char *text, const char *start);

/* Remove the last component of a path, and the slash before it. */
GENERAL void cut_last(char *path);

/* A text that is built in a buffer; `whole` becomes 0 if something did not fit. */
struct text {
  char *begin, *at, *end;
  int whole;
};
GENERAL struct text text_in(char *buffer, size_t bytes);
GENERAL void put(struct text *text, const char *part);
GENERAL void put_part(struct text *text, const char *part, size_t bytes);
GENERAL void put_number(struct text *text, uint64_t number, int digits);
void put_hexadecimal(struct text *text, const uint8_t *bytes, size_t count);
/* The inside of a JSON string, with names of files as in records/values.py. */
void put_json(struct text *text, const char *part);

enum { STATUS_REMOVED = 70 }; /* EX_SOFTWARE */

/* Keep the container's log open, for a program that may become another user. */
void keep_log(void);

/* End the program that missed something with STATUS_REMOVED: this process, or the one it serves. */
__attribute__((noreturn)) void end_program(void);

/* Print a message in up to five parts; and end the program with it. */
void say(const char *a, const char *b, const char *c, const char *d, const char *e);
__attribute__((noreturn)) void give_up(const char *a, const char *b, const char *c, const char *d,
                                       const char *e);

#endif
