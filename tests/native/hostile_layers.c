/* hostile_layers: gives the kernels of networks buffers that do not fit together, as a caller of an
 * enclave may. To be built with the address sanitizer, which sees what they touch beyond them.
 *
 * Ends with 1 where not some buffers were taken and some refused by each. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convolution.h"
#include "detection.h"
#include "kernels.h"

enum { ROUNDS = 4000, MOST = 5 };

static const double strange[] = {0, -1, 1.5, 1e300, -1e300, NAN, INFINITY, 1024, 1025, 4294967296.0};

static unsigned random_below(unsigned limit) {
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % limit;
}

static double strange_number(double usual) {
    return random_below(8) ? usual : strange[random_below(sizeof strange / sizeof *strange)];
}

/* The buffer of an argument: exactly as large as is said, now and then of another size. */
struct buffers {
    void *data[MOST];
    size_t bytes[MOST];
    unsigned count;
};

static double *add(struct buffers *buffers, size_t numbers) {
    size_t bytes = numbers * sizeof(double);
    if (!random_below(12)) bytes = bytes / 2 + random_below(9);
    if (!random_below(12)) bytes += sizeof(double);
    double *data = calloc(1, bytes ? bytes : 1);
    if (!data) exit(2);
    buffers->data[buffers->count] = data;
    buffers->bytes[buffers->count++] = bytes;
    return data;
}

static void alter(struct buffers *buffers, unsigned argument, unsigned head) {
    double *numbers = buffers->data[argument];
    for (unsigned i = 0; i < head && (i + 1) * sizeof *numbers <= buffers->bytes[argument]; i++)
        numbers[i] = strange_number(numbers[i]);
}

static void add_layer(struct buffers *buffers, unsigned neighbours) {
    struct layer layer = {1 + random_below(3), 1 + random_below(3), 1 + 2 * random_below(3), 0,
                          1 + random_below(7), 1 + random_below(7), random_below(3),
                          random_below(3)};
    layer.padding = random_below(4) ? layer.kernel / 2 : random_below((unsigned)layer.kernel);
    size_t images = neighbours ? 1 : 1 + random_below(3);
    size_t weights = layer.inputs * layer.outputs * layer.kernel * layer.kernel;
    float *numbers = calloc(weights, sizeof *numbers), biases[3] = {0};
    double *block = malloc(layer_numbers(&layer) * sizeof *block);
    if (!numbers || !block) exit(2);
    layer_write(&layer, numbers, biases, block);
    double *made = add(buffers, layer_numbers(&layer));
    size_t bytes = layer_numbers(&layer) * sizeof *block;
    memcpy(made, block, bytes < buffers->bytes[0] ? bytes : buffers->bytes[0]);
    free(numbers), free(block);
    if (!random_below(3)) alter(buffers, 0, LAYER_HEAD);
    size_t before = layer_in_numbers(&layer), after = 1;
    if (layer.rows + 2 * layer.padding >= layer.kernel &&
        layer.columns + 2 * layer.padding >= layer.kernel)
        after = layer_out_numbers(&layer);
    for (unsigned i = 0; i < 1 + neighbours; i++) add(buffers, images * before);
    add(buffers, images * after);
}

static void add_grid(struct buffers *buffers, enum kernel kernel) {
    size_t side = 1 + random_below(5), boxes = 1 + random_below(3), classes = 1 + random_below(3);
    size_t rows = 1 + random_below((unsigned)side);
    const double numbers[GRID_NUMBERS] = {(double)side, (double)boxes, (double)classes, 0.1, 0.5};
    double *grid = add(buffers, GRID_NUMBERS);
    memcpy(grid, numbers, buffers->bytes[0] < sizeof numbers ? buffers->bytes[0] : sizeof numbers);
    if (!random_below(3)) alter(buffers, 0, GRID_NUMBERS);
    if (kernel == COLLECT) {
        double *band = add(buffers, (boxes * 5 + classes) * rows * side);
        for (size_t i = 0; i < buffers->bytes[1] / sizeof *band; i++)
            band[i] = strange_number((double)random_below(9) - 4);
    }
    double *found = add(buffers, found_numbers(side, boxes));
    size_t room = buffers->bytes[buffers->count - 1] / sizeof *found;
    size_t done = kernel == COLLECT ? side - rows : side;
    if (room > 1) found[FOUND_COUNT] = (double)random_below((unsigned)(done * side * boxes) + 1);
    if (room > 1) found[FOUND_ROWS] = (double)done;
    for (size_t i = FOUND_HEAD; i < room; i++) found[i] = strange_number((double)random_below(4));
    if (!random_below(3)) alter(buffers, buffers->count - 1, FOUND_HEAD);
}

int main(void) {
    int wrong = 0;
    for (enum kernel kernel = CONVOLVE; kernel <= SUPPRESS; kernel++) {
        unsigned taken = 0;
        for (unsigned round = 0; round < ROUNDS; round++) {
            struct buffers buffers = {.count = 0};
            if (kernel >= COLLECT)
                add_grid(&buffers, kernel);
            else
                add_layer(&buffers, kernel == CONVOLVE ? 0 : kernel == CONVOLVE_MIDDLE ? 2 : 1);
            unsigned count = random_below(16) ? buffers.count : random_below(buffers.count);
            if (!kernels[kernel](buffers.data, buffers.bytes, count)) taken++;
            for (unsigned i = 0; i < buffers.count; i++) free(buffers.data[i]);
        }
        if (taken > ROUNDS / 20 && taken < ROUNDS) continue;
        printf("%s: %u of %u taken\n", kernel_names[kernel], taken, ROUNDS);
        wrong = 1;
    }
    return wrong;
}
