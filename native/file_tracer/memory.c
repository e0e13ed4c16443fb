#include "memory.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "exit_status.h"

static void *checked(void *memory) {
    if (!memory) err(TRACER_FAILED, "trimtab-file-tracer");
    return memory;
}

void *new_zeroed(size_t count, size_t size) { return checked(calloc(count, size)); }

char *copy_text(const char *text) { return checked(strdup(text)); }
