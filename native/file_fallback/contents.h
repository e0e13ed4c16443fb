/* The contents of a removed file: from the original's place, or from a store. */
#ifndef TRIMTAB_CONTENTS_H
#define TRIMTAB_CONTENTS_H

#include <errno.h>

#include "index.h"

/* GONE is byte code that the original no longer has: the program continues without it. UNREADABLE is
 * a source that no store has, while its byte code stayed: the program still finds it, as Python
 * imports no byte code without, but cannot open it. */
enum { GONE = -ENODATA, UNREADABLE = -ENOMEDIUM };

/* Write them to the new, open file `partial`. They must have the index's digest: otherwise the
 * program ends with a message, and the file is removed. Returns GONE, UNREADABLE, or -errno if it
 * cannot be written. */
long write_contents(const struct entry *entry, long file, const char *partial);

/* Tell the user if the original, the source of contents, is missing or changed. This may set a
 * variable, after which `variables` is elsewhere. */
void look_at_original(char **variables);

#endif
