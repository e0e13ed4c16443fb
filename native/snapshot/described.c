/* What the log says of a system call besides numbers: a path, or a text that it got. */
#define _GNU_SOURCE
#include <asm/unistd_64.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include "recorded_call.h"

enum { LINK_BYTES = 64, MASK_BYTES = 128 };

/* Write the path of an open file. */
static void path_of_file(long file, char *to, size_t room) {
  char link[LINK_BYTES];
  snprintf(link, sizeof link, "/proc/self/fd/%ld", file);
  long bytes = recorded_call(__NR_readlink, (long)link, (long)to, (long)room - 1, 0, 0, 0);
  to[bytes > 0 ? bytes : 0] = 0;
}

void path_at(long folder, const char *path, char *to, size_t room) {
  size_t used = 0;
  if (path && path[0] != '/' && (int)folder != AT_FDCWD) {
    path_of_file((int)folder, to, room);
    used = strlen(to);
    if (path[0] && used + 1 < room) to[used++] = '/';
  }
  snprintf(to + used, room - used, "%s", path ? path : "");
}

static void describe_machine(const struct utsname *name, char *to, size_t room) {
  snprintf(to, room, "%s %s %s", name->nodename, name->release, name->version);
}

/* What the log says besides numbers. */
void describe(long number, const greg_t *registers, long result, char *to, size_t room) {
  long first = registers[REG_RDI], second = registers[REG_RSI];
  to[0] = 0;
  switch (shape_of(number)) {
    case NEW_FOLDER:
    case PATH:
    case REMOVE:
    case OPEN: path_at(AT_FDCWD, (const char *)first, to, room); break;
    case CONNECT: path_at(AT_FDCWD, ((const struct sockaddr_un *)second)->sun_path, to, room); break;
    case LINK: path_at(AT_FDCWD, (const char *)second, to, room); break;
    case PATH_AT:
    case REMOVE_AT:
    case OPEN_AT2:
    case OPEN_AT: path_at(first, (const char *)second, to, room); break;
    case FOLDER: path_of_file(first, to, room); break;
    case WORKING: snprintf(to, room, "%s", result > 0 ? (const char *)first : ""); break;
    case MACHINE: describe_machine((const void *)first, to, room); break;
    case AFFINITY:
      for (long i = 0; i < result && i < MASK_BYTES; i++)
        snprintf(to + 2 * i, room - 2 * (size_t)i, "%02x", ((const uint8_t *)registers[REG_RDX])[i]);
      break;
    default: break;
  }
}
