/* Boxes of a detector: from the numbers of each cell of its grid, and the best of overlapping ones
 * (Redmon et al. 2016, section 2). */
#ifndef TRIMTAB_DETECTION_H
#define TRIMTAB_DETECTION_H

#include <stddef.h>

/* A block that describes the grid. */
enum { GRID_SIDE, GRID_BOXES, GRID_CLASSES, GRID_LEAST_SCORE, GRID_MOST_OVERLAP, GRID_NUMBERS };
enum { GRID_MOST = 256 /* cells per side */, GRID_MOST_BOXES = 16, GRID_MOST_CLASSES = 1000 };

/* A box: its centre and its size as shares of the image's side, its score, its class. */
enum { BOX_X, BOX_Y, BOX_WIDTH, BOX_HEIGHT, BOX_SCORE, BOX_CLASS, BOX_NUMBERS };

/* A block of boxes: their number, the number of grid rows so far, and room for all. */
enum { FOUND_COUNT, FOUND_ROWS, FOUND_HEAD };

size_t found_numbers(size_t side, size_t boxes);

/* grid, band [boxes * 5 + classes][rows][side], found: append the boxes of the band, which is the
 * next one, with a sufficient score. */
int collect(void *const data[], const size_t bytes[], unsigned count);
/* grid, found: sort by falling score, and drop boxes that overlap a better one of their class. */
int suppress(void *const data[], const size_t bytes[], unsigned count);

#endif
