/* Links at the top of the file system, such as /lib where /usr is merged: most paths that lead over a link lead
 * over one of these. They are read once. */
#ifndef TRIMTAB_TOP_LINKS_H
#define TRIMTAB_TOP_LINKS_H

#include <stddef.h>

#include "system.h"

/* Where /NAME leads, without links, if that was learnt; else NULL. */
GENERAL const char *top_link(const char *name, size_t length);

/* Learn where /NAME leads; 0 where it is no link, leads over others, or was learnt before. */
GENERAL int learn_top_link(const char *name, size_t length);

#endif
