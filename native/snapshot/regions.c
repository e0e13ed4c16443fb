/* Reads /proc/self/smaps, without the C library's memory. */
#include "regions.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <string.h>

#include "../kernel_call/kernel_call.h"
#include "hexadecimal.h"
#include "image.h"
#include "save.h"

long read_all(const char *path, char *to, long room) {
  long file = kernel(__NR_open, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0, 0), got, bytes = 0;
  if (file < 0) return -1;
  while (bytes < room && (got = kernel(__NR_read, file, (long)(to + bytes), room - bytes, 0, 0, 0)) > 0) bytes += got;
  kernel(__NR_close, file, 0, 0, 0, 0, 0);
  return bytes < room ? bytes : -1;
}

uint64_t decimal(const char **text) {
  uint64_t number = 0;
  for (; **text >= '0' && **text <= '9'; (*text)++) number = number * 10 + (uint64_t)(**text - '0');
  return number;
}

/* Whether a line "VmFlags: rd wr mr" has a flag. */
static int has_flag(const char *line, const char *letters) {
  for (; *line && *line != '\n'; line++)
    if (line[0] == ' ' && line[1] == letters[0] && line[2] == letters[1]) return 1;
  return 0;
}

static char *next_line(char *line) {
  while (*line && *line++ != '\n') continue;
  return line;
}

char *read_region(char *line, struct region *to) {
  const char *at = line;
  to->begin = hexadecimal(&at), at++;
  to->end = hexadecimal(&at), at++;
  to->protection = (at[0] == 'r' ? PROT_READ : 0) | (at[1] == 'w' ? PROT_WRITE : 0) | (at[2] == 'x' ? PROT_EXEC : 0);
  to->is_shared = at[3] == 's';
  at += 5;
  to->offset = hexadecimal(&at), at++;
  while (*at != ' ') at++; /* the device */
  at++;
  to->inode = decimal(&at);
  while (*at == ' ') at++;
  to->name = at;
  char *next = next_line(line);
  next[-1] = 0;
  to->advice = 0;
  for (; *next && (*next < '0' || *next > '9') && (*next < 'a' || *next > 'f'); next = next_line(next))
    for (int i = 0; !strncmp(next, "VmFlags:", 8) && i < ADVICES; i++)
      to->advice |= has_flag(next, advices[i].letters) << i;
  return next;
}

int has_unforked(void) {
  char *text = (char *)kernel(__NR_mmap, 0, TEXT_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int found = read_all("/proc/self/smaps", text, TEXT_BYTES - 1) < 0;
  for (char *line = text; *line; line = next_line(line)) found |= !strncmp(line, "VmFlags:", 8) && has_flag(line, "dc");
  kernel(__NR_munmap, (long)text, TEXT_BYTES, 0, 0, 0, 0);
  return found;
}
