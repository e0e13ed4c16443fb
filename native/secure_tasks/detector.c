/* A detector in the manner of YOLO (Redmon et al. 2016): one network over the full image, whose
 * last layer is a grid of boxes and classes; the best of overlapping boxes is kept.
 *
 * Tasks are bands of `--block` rows of the image, layer by layer: a band waits for the same band of
 * the previous layer, and for its two neighbours. Images use the same blocks between layers in
 * turn, once these are free again. */
#include <stdlib.h>

#include "detection.h"
#include "network.h"
#include "numbers.h"

enum { LAYERS = 5, POOLED = 3, CHANNELS = 3, REDUCED = 1 << POOLED };

static struct layer layers[LAYERS] = {
    {CHANNELS, NETWORK_ANY, 3, 1, 0, 0, LEAKY, MAXIMUM},
    {NETWORK_ANY, NETWORK_ANY, 3, 1, 0, 0, LEAKY, MAXIMUM},
    {NETWORK_ANY, NETWORK_ANY, 3, 1, 0, 0, LEAKY, MAXIMUM},
    {NETWORK_ANY, NETWORK_ANY, 3, 1, 0, 0, LEAKY, WHOLE},
    {NETWORK_ANY, NETWORK_ANY, 1, 0, 0, 0, LINEAR, WHOLE},
};

static size_t image_count, side, block;
static uint32_t bands;
static struct blocks weights[LAYERS];
static struct blocks pixels, between[LAYERS - 1], cells, grid, found;

static struct enclave_argument band_before(unsigned layer, uint32_t image, uint32_t band) {
    return layer ? block_in(&between[layer - 1], band) : block_in(&pixels, image * bands + band);
}

static struct enclave_argument band_after(unsigned layer, uint32_t image, uint32_t band) {
    return layer < LAYERS - 1 ? block_out(&between[layer], band)
                              : block_out(&cells, image * bands + band);
}

static void apply(unsigned layer, uint32_t image, uint32_t band) {
    bool has_halo = layers[layer].padding > 0, above = has_halo && band > 0;
    bool below = has_halo && band + 1 < bands;
    struct enclave_argument on[ENCLAVE_MOST_ARGUMENTS], own = band_before(layer, image, band);
    unsigned count = 0;
    on[count++] = block_in(&weights[layer], 0);
    if (above) on[count++] = band_before(layer, image, band - 1);
    on[count++] = own;
    if (below) on[count++] = band_before(layer, image, band + 1);
    on[count++] = band_after(layer, image, band);
    enum kernel kernel = above && below ? CONVOLVE_MIDDLE
                         : above        ? CONVOLVE_LAST
                         : below        ? CONVOLVE_FIRST
                                        : CONVOLVE;
    struct work work = submitted(kernel, count, on);
    /* If there is no band above or below, the band itself is named twice. */
    char *w = on[0].data, *x = own.data, *a = on[1].data, *b = on[count - 2].data;
    char *y = on[count - 1].data;
#pragma omp task firstprivate(work) depend(in : *w, *a, *x, *b) depend(out : *y) if (run_tasks)
    perform(work);
}

static void collect_boxes(uint32_t image, uint32_t band) {
    struct enclave_argument on[] = {block_in(&grid, 0), block_in(&cells, image * bands + band),
                                    block_inout(&found, image)};
    struct work work = submitted(COLLECT, 3, on);
    char *g = on[0].data, *c = on[1].data, *f = on[2].data;
#pragma omp task firstprivate(work) depend(in : *g, *c) depend(inout : *f) if (run_tasks)
    perform(work);
}

static void suppress_boxes(uint32_t image) {
    struct enclave_argument on[] = {block_in(&grid, 0), block_inout(&found, image)};
    struct work work = submitted(SUPPRESS, 2, on);
    char *g = on[0].data, *f = on[1].data;
#pragma omp task firstprivate(work) depend(in : *g) depend(inout : *f) if (run_tasks)
    perform(work);
}

static void submit_all(void) {
    for (uint32_t image = 0; image < image_count; image++) {
        for (unsigned layer = 0; layer < LAYERS; layer++)
            for (uint32_t band = 0; band < bands; band++) apply(layer, image, band);
        for (uint32_t band = 0; band < bands; band++) collect_boxes(image, band);
        suppress_boxes(image);
    }
#pragma omp taskwait
}

/* The file's grid, and PyTorch's findings. */
static struct {
    double numbers[GRID_NUMBERS];
    size_t channels, boxes, most_found;
    const float *pixels, *cells, *counts, *found;
} given;

static void read_layers(void) {
    for (unsigned i = 0; i < LAYERS; i++) {
        unsigned halved = i < POOLED ? i : POOLED;
        if (i) layers[i].inputs = layers[i - 1].outputs;
        layers[i].rows = block >> halved;
        layers[i].columns = side >> halved;
        network_shape(i, &layers[i]);
    }
}

/* Refuse here, with the file's name, what kernels would refuse later. */
static void read_grid(void) {
    size_t numbers = GRID_NUMBERS, cell_side, classes;
    const float *read = network_tensor("grid", 1, &numbers);
    for (unsigned i = 0; i < GRID_NUMBERS; i++) given.numbers[i] = (double)read[i];
    given.channels = layers[LAYERS - 1].outputs;
    if (!whole_number(given.numbers[GRID_SIDE], 1, GRID_MOST, &cell_side) ||
        !whole_number(given.numbers[GRID_BOXES], 1, GRID_MOST_BOXES, &given.boxes) ||
        !whole_number(given.numbers[GRID_CLASSES], 1, GRID_MOST_CLASSES, &classes) ||
        cell_side != side / REDUCED || given.boxes * 5 + classes != given.channels)
        network_refuse("its tensor grid does not fit its images and weights");
}

static void read_network(const char *path) {
    network_open(path, "detector 1");
    size_t images[] = {NETWORK_ANY, CHANNELS, side, side};
    given.pixels = network_tensor("images", 4, images);
    image_count = images[0];
    read_layers();
    read_grid();
    size_t outputs[] = {image_count, given.channels, side / REDUCED, side / REDUCED};
    given.cells = network_tensor("outputs", 4, outputs);
    given.counts = network_tensor("box_counts", 1, &image_count);
    size_t boxes[] = {image_count, NETWORK_ANY, BOX_NUMBERS};
    given.found = network_tensor("boxes", 3, boxes);
    given.most_found = boxes[1];
}

/* The largest number of numbers in one task's blocks. */
static size_t largest_task(void) {
    size_t largest = GRID_NUMBERS + found_numbers(side / REDUCED, given.boxes) +
                     layer_out_numbers(&layers[LAYERS - 1]);
    for (unsigned i = 0; i < LAYERS; i++) {
        size_t numbers = layer_numbers(&layers[i]) + 3 * layer_in_numbers(&layers[i]) +
                         layer_out_numbers(&layers[i]);
        if (numbers > largest) largest = numbers;
    }
    return largest;
}

/* Zeros for future results. */
static struct blocks zeros(uint32_t count, size_t numbers) {
    struct blocks blocks = blocks_new(count, numbers);
    double *zero = calloc(numbers, sizeof *zero);
    if (!zero) run_no_memory();
    for (uint32_t i = 0; i < count; i++) block_write(&blocks, i, zero);
    free(zero);
    return blocks;
}

/* The index of number `at` of a band among all of an image's numbers, [channel][row][column]. */
static size_t in_image(uint32_t band, size_t rows, size_t columns, size_t at) {
    size_t channel = at / (rows * columns), row = band * rows + at / columns % rows;
    return (channel * rows * bands + row) * columns + at % columns;
}

static void make_blocks(double *numbers) {
    for (unsigned i = 0; i < LAYERS; i++) weights[i] = network_block(i, &layers[i]);
    size_t image_numbers = CHANNELS * side * side;
    pixels = blocks_new((uint32_t)image_count * bands, CHANNELS * block * side);
    for (uint32_t i = 0; i < image_count * bands; i++) {
        const float *image = given.pixels + i / bands * image_numbers;
        for (size_t at = 0; at < pixels.numbers; at++)
            numbers[at] = (double)image[in_image(i % bands, block, side, at)];
        block_write(&pixels, i, numbers);
    }
    for (unsigned i = 0; i < LAYERS - 1; i++)
        between[i] = zeros(bands, layer_out_numbers(&layers[i]));
    cells = zeros((uint32_t)image_count * bands, layer_out_numbers(&layers[LAYERS - 1]));
    grid = blocks_new(1, GRID_NUMBERS);
    block_write(&grid, 0, given.numbers);
    found = zeros((uint32_t)image_count, found_numbers(side / REDUCED, given.boxes));
}

static bool equal_cells(double *numbers) {
    size_t cell_side = side / REDUCED, rows = block / REDUCED;
    size_t image_numbers = given.channels * cell_side * cell_side;
    bool equal = true;
    for (uint32_t i = 0; i < image_count * bands; i++) {
        const float *image = given.cells + i / bands * image_numbers;
        block_read(&cells, i, numbers);
        for (size_t at = 0; at < cells.numbers; at++)
            equal &= network_equal(numbers[at], image[in_image(i % bands, rows, cell_side, at)]);
    }
    return equal;
}

static bool equal_boxes(double *numbers) {
    bool equal = true;
    for (uint32_t image = 0; image < image_count; image++) {
        const float *expected = given.found + image * given.most_found * BOX_NUMBERS;
        block_read(&found, image, numbers);
        size_t count = (size_t)numbers[FOUND_COUNT];
        equal &= numbers[FOUND_COUNT] == (double)given.counts[image] && count <= given.most_found;
        for (size_t at = 0; equal && at < count * BOX_NUMBERS; at++)
            equal = network_equal(numbers[FOUND_HEAD + at], expected[at]);
    }
    return equal;
}

int main(int count, char **words) {
    struct options options = options_of("detector", true, count, words);
    side = options.size, block = options.block;
    if (side > LAYER_MOST_SIDE) refuse_option(&options, "--size", "a side above 992 pixels");
    if (block % REDUCED) refuse_option(&options, "--block", "not a multiple of 8 rows");
    bands = (uint32_t)(side / block);
    read_network(options.network);
    size_t largest = largest_task();
    uint64_t blocks = LAYERS + (LAYERS - 1) * bands + (2 * bands + 1) * (uint64_t)image_count + 1;
    if (blocks > ENCLAVE_MOST_BLOCKS) network_refuse("it has too many images");
    run_prepare(&options, largest, blocks);
    double *numbers = malloc(largest * sizeof *numbers);
    if (!numbers) run_no_memory();
    make_blocks(numbers);
    run_timed(submit_all);
    bool correct = equal_cells(numbers) && equal_boxes(numbers);
    free(numbers);
    for (unsigned i = 0; i < LAYERS; i++) free(weights[i].data);
    for (unsigned i = 0; i < LAYERS - 1; i++) free(between[i].data);
    free(pixels.data), free(cells.data), free(grid.data), free(found.data);
    network_close();
    return run_finish(correct);
}
