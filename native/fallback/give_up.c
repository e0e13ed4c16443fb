#include "give_up.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { STATUS_REMOVED = 70 /* EX_SOFTWARE */ };

void give_up(const char *format, ...) {
  static char text[4 * PATH_MAX];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length > 0) dprintf(STDERR_FILENO, "trimtab: %s\n", text);
  _exit(STATUS_REMOVED);
}
