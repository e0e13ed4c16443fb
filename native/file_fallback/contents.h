/* The contents that the original of a removed file has: in its own place, or in a store. */
#ifndef TRIMTAB_CONTENTS_H
#define TRIMTAB_CONTENTS_H

#include <errno.h>

#include "index.h"

/* Of byte code that the original no longer has: who asks for it goes on without. */
enum { GONE = -ENODATA };

/* Write them to the new, open file `partial`. They are believed when they have the digest of the
 * index: otherwise the program ends with a message, and the file is gone. Returns GONE, or -errno where it
 * cannot be written. */
long write_contents(const struct entry *entry, long file, const char *partial);

/* Tell people where the original, from which contents are to come, is gone or another. It may set a
 * variable, after which `variables` are elsewhere. */
void look_at_original(char **variables);

#endif
