/* A layer of a convolutional network: convolution, activation, pooling.
 *
 * Its block has LAYER_HEAD numbers that describe it, the weights, [outputs][inputs][kernel]
 * [kernel], and a bias for each output. Images are [inputs][rows][columns], in sequence. A fully
 * connected layer has a kernel that covers the whole image. */
#ifndef TRIMTAB_CONVOLUTION_H
#define TRIMTAB_CONVOLUTION_H

#include <stdbool.h>
#include <stddef.h>

enum activation { LINEAR, TANH, LEAKY };
enum pooling { WHOLE, AVERAGE, MAXIMUM }; /* of 2 x 2, except the first */

enum { LAYER_HEAD = 8, LAYER_MOST = 1024 /* channels, rows */, LAYER_MOST_SIDE = 992 /* columns */ };

#define LEAKY_SLOPE 0.1

struct layer {
    size_t inputs, outputs, kernel, padding, rows, columns;
    enum activation activation;
    enum pooling pooling;
};

size_t layer_numbers(const struct layer *layer);
/* Of one image, before and after. */
size_t layer_in_numbers(const struct layer *layer);
size_t layer_out_numbers(const struct layer *layer);

/* Fill the layer's block. */
void layer_write(const struct layer *layer, const float *weights, const float *biases,
                 double *numbers);

/* layer, images, results: any number of images. */
int convolve(void *const data[], const size_t bytes[], unsigned count);
/* layer, [the band above,] band, [the band below,] result: a band of rows of one image.
 * Neighbouring bands have as many rows; kernels are odd, and the padding is half of them. */
int convolve_first(void *const data[], const size_t bytes[], unsigned count);
int convolve_middle(void *const data[], const size_t bytes[], unsigned count);
int convolve_last(void *const data[], const size_t bytes[], unsigned count);

#endif
