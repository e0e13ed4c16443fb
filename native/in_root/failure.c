#define _GNU_SOURCE
#include "failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_status.h"

static int descriptor = STDERR_FILENO;
static const char *root = "trimtab-in-root";

void fail_to(int other) { descriptor = other; }

void fail_at(const char *folder) { root = folder; }

void fail(int status, const char *format, ...) {
    int error = errno;
    va_list arguments;
    if (status == CANNOT_ENTER) dprintf(descriptor, "%s: cannot be entered: ", root);
    va_start(arguments, format);
    vdprintf(descriptor, format, arguments);
    va_end(arguments);
    dprintf(descriptor, error ? ": %s\n" : "\n", strerror(error));
    exit(status);
}
