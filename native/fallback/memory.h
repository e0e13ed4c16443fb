/* The program's pages in memory. */
#ifndef TRIMTAB_MEMORY_H
#define TRIMTAB_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { TRAP = 0xcc, PAGE_BYTES = 4096 };

int is_readable(const uint8_t *address);

/* Address space that is given up where the process may have no more (RLIMIT_AS): what comes back takes
 * the place of a hole and needs none in the end. Kept anew by who gave it up. */
void keep_reserve(void);

/* As mmap(2) with MAP_PRIVATE anywhere, if need be from the reserve. The lock is held. */
void *map_memory(size_t bytes, int protection, int flags, int file);

/* Pages of this library's own, zeros, to be filled and then moved to their place. */
uint8_t *new_pages(size_t bytes);

/* Let the filled `pages` take the place of those at `place` while other threads run: these find
 * the old pages, the new ones, or fault and find the new ones when they come for the lock. */
void move_pages(uint8_t *place, uint8_t *pages, size_t bytes, int executable);
void drop_pages(uint8_t *pages, size_t bytes);

/* Whether the process has more than half of the mappings that it may have (max_map_count of
 * proc_sys_vm(5)). A page that is moved into a hole makes two more of it; one that fills the hole makes
 * none. The lock is held. */
int has_many_mappings(void);

#endif
