#include "convolution.h"

#include <math.h>

#include "numbers.h"

enum { INPUTS, OUTPUTS, KERNEL, PADDING, ROWS, COLUMNS, ACTIVATION, POOLING };
enum { MOST_KERNEL = 16 }; /* the most by which a row exceeds LAYER_MOST_SIDE */

/* Bands of one image; null for a missing one. */
struct bands {
    const double *above, *own, *below;
};

static size_t weight_numbers(const struct layer *layer) {
    return layer->outputs * layer->inputs * layer->kernel * layer->kernel;
}

static size_t convolved(const struct layer *layer, size_t length) {
    return length + 2 * layer->padding - layer->kernel + 1;
}

static size_t pooled(const struct layer *layer, size_t length) {
    return convolved(layer, length) / (layer->pooling == WHOLE ? 1 : 2);
}

size_t layer_numbers(const struct layer *layer) {
    return LAYER_HEAD + weight_numbers(layer) + layer->outputs;
}

size_t layer_in_numbers(const struct layer *layer) {
    return layer->inputs * layer->rows * layer->columns;
}

size_t layer_out_numbers(const struct layer *layer) {
    return layer->outputs * pooled(layer, layer->rows) * pooled(layer, layer->columns);
}

void layer_write(const struct layer *layer, const float *weights, const float *biases,
                 double *numbers) {
    numbers[INPUTS] = (double)layer->inputs;
    numbers[OUTPUTS] = (double)layer->outputs;
    numbers[KERNEL] = (double)layer->kernel;
    numbers[PADDING] = (double)layer->padding;
    numbers[ROWS] = (double)layer->rows;
    numbers[COLUMNS] = (double)layer->columns;
    numbers[ACTIVATION] = layer->activation;
    numbers[POOLING] = layer->pooling;
    numbers += LAYER_HEAD;
    for (size_t i = 0; i < weight_numbers(layer); i++) *numbers++ = weights[i];
    for (size_t i = 0; i < layer->outputs; i++) *numbers++ = biases[i];
}

/* Trust nothing: the caller of an enclave wrote it. */
static bool layer_read(const double *numbers, size_t bytes, struct layer *layer) {
    size_t activation, pooling;
    if (bytes < LAYER_HEAD * sizeof *numbers ||
        !whole_number(numbers[INPUTS], 1, LAYER_MOST, &layer->inputs) ||
        !whole_number(numbers[OUTPUTS], 1, LAYER_MOST, &layer->outputs) ||
        !whole_number(numbers[KERNEL], 1, MOST_KERNEL, &layer->kernel) ||
        !whole_number(numbers[PADDING], 0, layer->kernel - 1, &layer->padding) ||
        !whole_number(numbers[ROWS], 1, LAYER_MOST, &layer->rows) ||
        !whole_number(numbers[COLUMNS], 1, LAYER_MOST_SIDE, &layer->columns) ||
        !whole_number(numbers[ACTIVATION], LINEAR, LEAKY, &activation) ||
        !whole_number(numbers[POOLING], WHOLE, MAXIMUM, &pooling))
        return false;
    layer->activation = (enum activation)activation;
    layer->pooling = (enum pooling)pooling;
    size_t shorter = layer->rows < layer->columns ? layer->rows : layer->columns;
    if (shorter + 2 * layer->padding < layer->kernel) return false;
    if (layer->pooling != WHOLE &&
        (convolved(layer, layer->rows) % 2 || convolved(layer, layer->columns) % 2))
        return false;
    return layer_numbers(layer) * sizeof *numbers == bytes;
}

/* A row of a channel, possibly of a neighbouring band; null in the padding. */
static const double *row_of(const struct layer *layer, const struct bands *bands, size_t channel,
                            size_t padded_row) {
    const double *band = bands->own;
    size_t row = padded_row - layer->padding; /* unused if it wraps */
    if (padded_row < layer->padding) {
        band = bands->above;
        row = padded_row + layer->rows - layer->padding;
    } else if (row >= layer->rows) {
        band = bands->below;
        row -= layer->rows;
    }
    return band ? band + (channel * layer->rows + row) * layer->columns : NULL;
}

static void convolve_row(const struct layer *layer, const struct bands *bands,
                         const double *weights, double bias, size_t row, double *result) {
    size_t width = convolved(layer, layer->columns);
    for (size_t column = 0; column < width; column++) result[column] = bias;
    for (size_t channel = 0; channel < layer->inputs; channel++)
        for (size_t k = 0; k < layer->kernel; k++, weights += layer->kernel) {
            const double *source = row_of(layer, bands, channel, row + k);
            for (size_t l = 0; source && l < layer->kernel; l++) {
                double weight = weights[l];
                size_t first = l < layer->padding ? layer->padding - l : 0;
                size_t beyond = layer->columns + layer->padding;
                size_t end = l < beyond ? beyond - l : 0; /* 0: this weight only meets padding */
                if (end > width) end = width;
#pragma omp simd
                for (size_t column = first; column < end; column++)
                    result[column] += weight * source[column + l - layer->padding];
            }
        }
}

static void activate(enum activation activation, double *row, size_t width) {
    if (activation == TANH)
        for (size_t i = 0; i < width; i++) row[i] = tanh(row[i]);
    if (activation == LEAKY)
        for (size_t i = 0; i < width; i++) row[i] = row[i] > 0 ? row[i] : LEAKY_SLOPE * row[i];
}

static double pool(enum pooling pooling, const double *one, const double *other) {
    if (pooling == AVERAGE) return (one[0] + one[1] + other[0] + other[1]) / 4;
    return fmax(fmax(one[0], one[1]), fmax(other[0], other[1]));
}

/* Compute one whole output channel to `result`. */
static void channel_of(const struct layer *layer, const struct bands *bands, const double *weights,
                       double bias, double *result) {
    double rows[2][LAYER_MOST];
    size_t width = convolved(layer, layer->columns), height = pooled(layer, layer->rows);
    unsigned each = layer->pooling == WHOLE ? 1 : 2;
    for (size_t row = 0; row < height; row++) {
        for (unsigned i = 0; i < each; i++) {
            convolve_row(layer, bands, weights, bias, each * row + i, rows[i]);
            activate(layer->activation, rows[i], width);
        }
        for (size_t column = 0; column < width / each; column++)
            *result++ = each == 1 ? rows[0][column]
                                  : pool(layer->pooling, &rows[0][2 * column], &rows[1][2 * column]);
    }
}

static void image_of(const struct layer *layer, const struct bands *bands, const double *numbers,
                     double *result) {
    const double *weights = numbers + LAYER_HEAD, *biases = weights + weight_numbers(layer);
    size_t each = weight_numbers(layer) / layer->outputs;
    /* A kernel that covers the image has one result, and its weights have the image's layout. */
    bool covered = layer_in_numbers(layer) == each && !layer->padding;
    for (size_t output = 0; output < layer->outputs; output++, weights += each) {
        if (covered) {
            *result = biases[output] + product(weights, bands->own, each);
            activate(layer->activation, result++, 1);
        } else {
            channel_of(layer, bands, weights, biases[output], result);
            result += layer_out_numbers(layer) / layer->outputs;
        }
    }
}

static int convolve_bands(void *const data[], const size_t bytes[], unsigned count, bool above,
                          bool below) {
    struct layer layer;
    if (count != 3u + above + below || !layer_read(data[0], bytes[0], &layer)) return 1;
    const double *own = data[1 + above];
    size_t each = layer_in_numbers(&layer), images = bytes[1 + above] / (each * sizeof *own);
    size_t expected = images * each * sizeof *own;
    for (unsigned i = 1; i + 1 < count; i++)
        if (!images || bytes[i] != expected) return 1;
    if (bytes[count - 1] != images * layer_out_numbers(&layer) * sizeof *own) return 1;
    if ((above || below) && (images != 1 || layer.kernel != 2 * layer.padding + 1 ||
                             layer.padding > layer.rows))
        return 1;
    for (size_t image = 0; image < images; image++) {
        struct bands bands = {above ? data[1] : NULL, own + image * each,
                              below ? data[2 + above] : NULL};
        double *result = (double *)data[count - 1] + image * layer_out_numbers(&layer);
        image_of(&layer, &bands, data[0], result);
    }
    return 0;
}

int convolve(void *const data[], const size_t bytes[], unsigned count) {
    return convolve_bands(data, bytes, count, false, false);
}

int convolve_first(void *const data[], const size_t bytes[], unsigned count) {
    return convolve_bands(data, bytes, count, false, true);
}

int convolve_middle(void *const data[], const size_t bytes[], unsigned count) {
    return convolve_bands(data, bytes, count, true, true);
}

int convolve_last(void *const data[], const size_t bytes[], unsigned count) {
    return convolve_bands(data, bytes, count, true, false);
}
