/* A network file: weights, test images, and PyTorch's results for them, as written by the project's
 * workloads (docs/methods/enclaves.md). Any mistake in it ends the program. */
#ifndef TRIMTAB_NETWORK_H
#define TRIMTAB_NETWORK_H

#include "convolution.h"
#include "run.h"
#include "safetensors.h"

enum { NETWORK_ANY = 0 }; /* in a requested shape: any size of the file */

/* `kind` is the file's required kind with its version: "lenet 1". */
void network_open(const char *path, const char *kind);
void network_close(void);

/* End the program with the mistake in the file. */
_Noreturn void network_refuse(const char *what);

/* The tensor of this name; sizes that are NETWORK_ANY are filled in. */
const float *network_tensor(const char *name, unsigned dimensions, size_t *shape);

/* Fill in the numbers of inputs and outputs of layer `number`, if they are NETWORK_ANY. */
void network_shape(unsigned number, struct layer *layer);

/* A block with the weights of layer `number`, whose shape is known. */
struct blocks network_block(unsigned number, const struct layer *layer);

/* Whether a number equals PyTorch's, except for rounding. */
bool network_equal(double found, float expected);

#endif
