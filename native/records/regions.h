/* Fat binary regions that a library passes to the driver by address, from its own file. */
#ifndef TRIMTAB_REGIONS_H
#define TRIMTAB_REGIONS_H

/* Record the file and the offset of the region that `image` is or points to (a wrapper, as
 * compilers make it); an image that is no region, or is in no file, is left out. */
void record_region(const void *image);

#endif
