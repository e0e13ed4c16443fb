#include "detection.h"

#include <math.h>
#include <string.h>

#include "numbers.h"

struct grid {
    size_t side, boxes, classes;
    double least_score, most_overlap;
};

size_t found_numbers(size_t side, size_t boxes) {
    return FOUND_HEAD + side * side * boxes * BOX_NUMBERS;
}

static bool grid_read(const double *numbers, size_t bytes, struct grid *grid) {
    grid->least_score = grid->most_overlap = 0;
    if (bytes != GRID_NUMBERS * sizeof *numbers) return false;
    grid->least_score = numbers[GRID_LEAST_SCORE];
    grid->most_overlap = numbers[GRID_MOST_OVERLAP];
    return whole_number(numbers[GRID_SIDE], 1, GRID_MOST, &grid->side) &&
           whole_number(numbers[GRID_BOXES], 1, GRID_MOST_BOXES, &grid->boxes) &&
           whole_number(numbers[GRID_CLASSES], 1, GRID_MOST_CLASSES, &grid->classes);
}

/* The numbers of boxes and rows; false if they are impossible. */
static bool found_read(const struct grid *grid, const double *found, size_t bytes, size_t *boxes,
                       size_t *rows) {
    return bytes == found_numbers(grid->side, grid->boxes) * sizeof *found &&
           whole_number(found[FOUND_ROWS], 0, grid->side, rows) &&
           whole_number(found[FOUND_COUNT], 0, *rows * grid->side * grid->boxes, boxes);
}

static double sigmoid(double value) {
    return 1 / (1 + exp(-value));
}

/* The most likely class and its share, from numbers at a distance of `stride`. */
static double best_class(const double *numbers, size_t stride, size_t classes, size_t *best) {
    *best = 0;
    for (size_t i = 1; i < classes; i++)
        if (numbers[i * stride] > numbers[*best * stride]) *best = i;
    double sum = 0;
    for (size_t i = 0; i < classes; i++) sum += exp(numbers[i * stride] - numbers[*best * stride]);
    return 1 / sum;
}

int collect(void *const data[], const size_t bytes[], unsigned count) {
    struct grid grid;
    size_t boxes = 0, above = 0, class;
    if (count != 3 || !grid_read(data[0], bytes[0], &grid)) return 1;
    double *found = data[2];
    if (!found_read(&grid, found, bytes[2], &boxes, &above)) return 1;
    size_t row_bytes = (grid.boxes * 5 + grid.classes) * grid.side * sizeof(double);
    size_t rows = bytes[1] / row_bytes, stride = rows * grid.side;
    if (!rows || bytes[1] % row_bytes || rows > grid.side - above) return 1;
    for (size_t at = 0; at < stride; at++) {
        const double *cell = (const double *)data[1] + at;
        double share = best_class(cell + 5 * grid.boxes * stride, stride, grid.classes, &class);
        for (size_t i = 0; i < grid.boxes; i++, cell += 5 * stride) {
            double score = sigmoid(cell[4 * stride]) * share;
            if (!(score >= grid.least_score)) continue;
            double *box = found + FOUND_HEAD + boxes++ * BOX_NUMBERS;
            box[BOX_X] = ((double)(at % grid.side) + sigmoid(cell[0])) / (double)grid.side;
            box[BOX_Y] = ((double)(above + at / grid.side) + sigmoid(cell[stride])) /
                         (double)grid.side;
            box[BOX_WIDTH] = sigmoid(cell[2 * stride]);
            box[BOX_HEIGHT] = sigmoid(cell[3 * stride]);
            box[BOX_SCORE] = score;
            box[BOX_CLASS] = (double)class;
        }
    }
    found[FOUND_COUNT] = (double)boxes;
    found[FOUND_ROWS] = (double)(above + rows);
    return 0;
}

static double shared_length(const double *one, const double *other, int centre, int length) {
    double end = fmin(one[centre] + one[length] / 2, other[centre] + other[length] / 2);
    double begin = fmax(one[centre] - one[length] / 2, other[centre] - other[length] / 2);
    return fmax(end - begin, 0);
}

/* Intersection over union. */
static double overlap(const double *one, const double *other) {
    double both = shared_length(one, other, BOX_X, BOX_WIDTH) *
                  shared_length(one, other, BOX_Y, BOX_HEIGHT);
    double all = one[BOX_WIDTH] * one[BOX_HEIGHT] + other[BOX_WIDTH] * other[BOX_HEIGHT] - both;
    return all > 0 ? both / all : 0;
}

/* Insert the box at `last` into the sorted boxes before it. */
static void insert(double *boxes, size_t last) {
    double box[BOX_NUMBERS];
    memcpy(box, boxes + last * BOX_NUMBERS, sizeof box);
    size_t at = last;
    while (at && boxes[(at - 1) * BOX_NUMBERS + BOX_SCORE] < box[BOX_SCORE]) at--;
    memmove(boxes + (at + 1) * BOX_NUMBERS, boxes + at * BOX_NUMBERS, (last - at) * sizeof box);
    memcpy(boxes + at * BOX_NUMBERS, box, sizeof box);
}

int suppress(void *const data[], const size_t bytes[], unsigned count) {
    struct grid grid;
    size_t boxes = 0, rows = 0, kept = 0;
    if (count != 2 || !grid_read(data[0], bytes[0], &grid)) return 1;
    double *found = data[1], *box = found + FOUND_HEAD;
    if (!found_read(&grid, found, bytes[1], &boxes, &rows) || rows != grid.side) return 1;
    for (size_t i = 1; i < boxes; i++) insert(box, i);
    for (size_t i = 0; i < boxes; i++) {
        const double *candidate = box + i * BOX_NUMBERS;
        bool best = true;
        for (size_t j = 0; j < kept && best; j++) {
            const double *better = box + j * BOX_NUMBERS;
            best = better[BOX_CLASS] != candidate[BOX_CLASS] ||
                   overlap(better, candidate) <= grid.most_overlap;
        }
        if (best) memmove(box + kept++ * BOX_NUMBERS, candidate, BOX_NUMBERS * sizeof *box);
    }
    memset(box + kept * BOX_NUMBERS, 0, (boxes - kept) * BOX_NUMBERS * sizeof *box);
    found[FOUND_COUNT] = (double)kept;
    return 0;
}
