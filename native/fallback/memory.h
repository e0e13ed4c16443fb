/* The program's pages in memory. */
#ifndef TRIMTAB_MEMORY_H
#define TRIMTAB_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { TRAP = 0xcc, PAGE_BYTES = 4096 };

int is_readable(const uint8_t *address);

/* Reserve address space, which is released when the process may have no more (RLIMIT_AS). Restored
 * pages replace a hole and need no more in the end. A caller that released it reserves again. */
void keep_reserve(void);

/* As mmap(2) with MAP_PRIVATE anywhere, if needed from the reserve. The lock is held. */
void *map_memory(size_t bytes, int protection, int flags, int file);

/* Return zeroed pages of this library, to fill and then move to their place. */
uint8_t *new_pages(size_t bytes);

/* Replace the pages at `place` by the filled `pages` while other threads run: these see the old
 * pages or the new ones, or fault and see the new ones once they get the lock. */
void move_pages(uint8_t *place, uint8_t *pages, size_t bytes, int executable);
void drop_pages(uint8_t *pages, size_t bytes);

/* Whether the process has more than half of its maximum of mappings (max_map_count of
 * proc_sys_vm(5)). A page moved into a hole adds two; a page that fills the hole adds none. The
 * lock is held. */
int has_many_mappings(void);

#endif
