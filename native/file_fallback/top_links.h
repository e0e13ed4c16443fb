/* Links at the top of the file system, such as /lib with a merged /usr: most paths with a link lead
 * over one of these. They are read once. */
#ifndef TRIMTAB_TOP_LINKS_H
#define TRIMTAB_TOP_LINKS_H

#include <stddef.h>

#include "system.h"

/* The target of /NAME without links, if it is known; otherwise NULL. */
GENERAL const char *top_link(const char *name, size_t length);

/* Read the target of /NAME; returns 0 if it is no link, leads over other links, or is known
 * already. */
GENERAL int learn_top_link(const char *name, size_t length);

#endif
