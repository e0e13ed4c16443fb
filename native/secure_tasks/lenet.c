/* LeNet5 (LeCun et al. 1998) on many images: each task is a layer for `--block` images. */
#include <stdlib.h>

#include "network.h"

enum { LAYERS = 5, SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10, MOST_IMAGES = 1 << 20 };

static const struct layer layers[LAYERS] = {
    {1, 6, 5, 2, 28, 28, TANH, AVERAGE}, {6, 16, 5, 0, 14, 14, TANH, AVERAGE},
    {16, 120, 5, 0, 5, 5, TANH, WHOLE},  {120, 84, 1, 0, 1, 1, TANH, WHOLE},
    {84, CLASSES, 1, 0, 1, 1, LINEAR, WHOLE},
};

static uint32_t parts;
static struct blocks weights[LAYERS];
static struct blocks images[LAYERS + 1]; /* before each layer, and after the last */

static void apply(unsigned layer, uint32_t part) {
    struct enclave_argument on[] = {block_in(&weights[layer], 0), block_in(&images[layer], part),
                                    block_out(&images[layer + 1], part)};
    struct work work = submitted(CONVOLVE, 3, on);
    char *w = on[0].data, *x = on[1].data, *y = on[2].data;
#pragma omp task firstprivate(work) depend(in : *w, *x) depend(out : *y) if (run_tasks)
    perform(work);
}

static void submit_all(void) {
    for (uint32_t part = 0; part < parts; part++)
        for (unsigned layer = 0; layer < LAYERS; layer++) apply(layer, part);
#pragma omp taskwait
}

static size_t largest_task(size_t block) {
    size_t largest = 0;
    for (unsigned i = 0; i < LAYERS; i++) {
        size_t numbers = layer_numbers(&layers[i]) +
                         block * (layer_in_numbers(&layers[i]) + layer_out_numbers(&layers[i]));
        if (numbers > largest) largest = numbers;
    }
    return largest;
}

/* Make the blocks for all data; future results are zeros. */
static void make_blocks(const float *pixels, size_t given, size_t block, double *numbers) {
    for (unsigned i = 0; i < LAYERS; i++) weights[i] = network_block(i, &layers[i]);
    images[0] = blocks_new(parts, block * PIXELS);
    for (uint32_t part = 0; part < parts; part++) {
        for (size_t at = 0; at < block * PIXELS; at++)
            numbers[at] = pixels[(part * block + at / PIXELS) % given * PIXELS + at % PIXELS];
        block_write(&images[0], part, numbers);
    }
    for (size_t at = 0; at < block * layer_out_numbers(&layers[0]); at++) numbers[at] = 0;
    for (unsigned i = 0; i < LAYERS; i++) {
        images[i + 1] = blocks_new(parts, block * layer_out_numbers(&layers[i]));
        for (uint32_t part = 0; part < parts; part++) block_write(&images[i + 1], part, numbers);
    }
}

static bool equal(const float *outputs, size_t given, size_t block, double *numbers) {
    bool equal = true;
    for (uint32_t part = 0; part < parts; part++) {
        block_read(&images[LAYERS], part, numbers);
        for (size_t at = 0; at < block * CLASSES; at++) {
            size_t image = (part * block + at / CLASSES) % given;
            equal &= network_equal(numbers[at], outputs[image * CLASSES + at % CLASSES]);
        }
    }
    return equal;
}

int main(int count, char **words) {
    struct options options = options_of("lenet", true, count, words);
    size_t block = options.block, shape[] = {NETWORK_ANY, 1, SIDE, SIDE};
    if (options.size > MOST_IMAGES) refuse_option(&options, "--size", "more than 1048576 images");
    parts = (uint32_t)(options.size / block);
    network_open(options.network, "lenet 1");
    const float *pixels = network_tensor("images", 4, shape);
    size_t results[] = {shape[0], CLASSES};
    const float *outputs = network_tensor("outputs", 2, results);
    run_prepare(&options, largest_task(block), LAYERS + (LAYERS + 1) * parts);
    /* The images after the first layer are the largest. */
    double *numbers = malloc(block * layer_out_numbers(&layers[0]) * sizeof *numbers);
    if (!numbers) run_no_memory();
    make_blocks(pixels, shape[0], block, numbers);
    run_timed(submit_all);
    bool correct = equal(outputs, shape[0], block, numbers);
    free(numbers);
    for (unsigned i = 0; i < LAYERS; i++) free(weights[i].data), free(images[i].data);
    free(images[LAYERS].data);
    network_close();
    return run_finish(correct);
}
