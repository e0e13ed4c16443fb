/* A file name for a library's path in its environment; different paths have different names.
 *
 * `/` is written as `__`. Where another path would give the same name, or one of more than 200
 * bytes, it is instead the last 64 bytes of the path, with `_` for all but letters, digits and
 * ._+-, then `____` and half of the path's SHA-256. The rule stands a second time in
 * src/trimtab/records/library_spans.py. */
#ifndef TRIMTAB_FLAT_NAME_H
#define TRIMTAB_FLAT_NAME_H

enum { FLAT_NAME_BYTES = 201 };

void flat_name(const char *path, char flat[FLAT_NAME_BYTES]);

#endif
