#include "give_up.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "container_log.h"

enum { STATUS_REMOVED = 70 /* EX_SOFTWARE */ };

void keep_log(void) { keep_container_log(); }

void give_up(const char *format, ...) {
  static char text[4 * PATH_MAX], line[sizeof text + 16];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  size_t length = (size_t)snprintf(line, sizeof line, "trimtab: %s\n", text);
  if (write(STDERR_FILENO, line, length) != (ssize_t)length) errno = 0; /* it may be closed */
  write_to_container_log(line, length);
  _exit(STATUS_REMOVED);
}
