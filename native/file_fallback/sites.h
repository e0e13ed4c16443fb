/* Where the C library makes its system calls. */
#ifndef TRIMTAB_SITES_H
#define TRIMTAB_SITES_H

/* The path by which this library was loaded, NULL where that is not known. */
const char *own_path(void);

/* Have the C library and the dynamic linker of this process ask us for calls that name files, and for those
 * that wait for a child. */
void take_over_calls(int also_waits);

#endif
