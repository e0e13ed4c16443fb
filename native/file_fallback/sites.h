/* The system calls in the C library's code. */
#ifndef TRIMTAB_SITES_H
#define TRIMTAB_SITES_H

/* The path by which this library was loaded, NULL if it is unknown. */
const char *own_path(void);

/* Let the C library and the dynamic linker of this process call us for system calls with names of
 * files, and for waits for a child. */
void take_over_calls(int also_waits);

#endif
