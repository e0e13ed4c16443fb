/* Python's byte code, and the sources that it was made from. */
#ifndef TRIMTAB_BYTE_CODE_H
#define TRIMTAB_BYTE_CODE_H

#include "index.h"

/* Python makes byte code again from the source, whose time it contains. */
int is_byte_code(const struct entry *entry);

/* Whether the entry is a source, DIRECTORY/NAME.py, whose byte code stayed:
 * DIRECTORY/__pycache__/NAME.*.pyc (PEP 3147). Python then reads the source for tracebacks alone. */
int has_byte_code(const struct entry *entry);

#endif
