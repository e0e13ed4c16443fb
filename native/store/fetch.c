/* trimtab-fetch ADDRESS FILE [PIECE]: write the data at an address of a store to a file, atomically,
 * and make its parent folders. ADDRESS is http://HOST[:PORT]/PATH or unix:SOCKET/FOLDER/NAME; PIECE
 * is told to the server. Ends with one of `enum fetched`; readers check the data.
 *
 * It runs in roots of any C library or none, and beside a slim one: it needs no other file. */
#include <asm/unistd_64.h>
#include <fcntl.h>

#include "../file_fallback/system.h"
#include "request.h"
#include "which.h"

enum { PATH_BYTES = 4096 };

static void make_folders(char *path) {
  for (char *at = path + 1; *at; at++) {
    if (*at != '/') continue;
    *at = 0;
    KERNEL(__NR_mkdir, path, 0700, 0, 0);
    *at = '/';
  }
}

static int write_all(long file, const struct body *body) {
  if (!may_grow(file, body->bytes)) return 0;
  for (size_t done = 0; done < body->bytes;) {
    long part = KERNEL(__NR_write, file, body->begin + done, body->bytes - done, 0);
    if (part <= 0) return 0;
    done += (size_t)part;
  }
  return 1;
}

static int write_whole(char *path, const struct body *body) {
  char temporary[PATH_BYTES];
  struct text text = text_in(temporary, sizeof temporary);
  uint64_t any = 0;
  KERNEL(__NR_getrandom, &any, sizeof any, 0, 0);
  put(&text, path);
  put(&text, ".");
  put_number(&text, any, 1);
  make_folders(path);
  long file = text.whole ? open_path(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;
  if (file < 0) return 0;
  int whole = write_all(file, body);
  if (!KERNEL(__NR_close, file, 0, 0, 0) && whole && !KERNEL(__NR_rename, temporary, path, 0, 0)) return 1;
  KERNEL(__NR_unlink, temporary, 0, 0, 0);
  return 0;
}

static int fetch(const char *fetcher, const char *address, char *path, const char *piece) {
  struct body body;
  int status = get(fetcher, address, piece, &body);
  return status != FETCHED || write_whole(path, &body) ? status : NOT_WRITTEN;
}

__attribute__((noreturn, used)) static void run(long *stack) {
  int count = (int)stack[0], status = USAGE;
  char **words = (char **)(stack + 1);
  if (count == 3 || count == 4) status = fetch(words[0], words[1], words[2], count == 4 ? words[3] : "");
  for (;;) KERNEL(__NR_exit_group, status, 0, 0, 0);
}

__asm__(".globl _start\n"
        "_start:\n\t"
        "xor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall run\n");
