/* A network file: weights, test images, and what PyTorch makes of them, as workloads of the project
 * write them (docs/methods/enclaves.md). Whatever is wrong with it ends the program. */
#ifndef TRIMTAB_NETWORK_H
#define TRIMTAB_NETWORK_H

#include "convolution.h"
#include "run.h"
#include "safetensors.h"

enum { NETWORK_ANY = 0 }; /* of a shape that is asked for: whatever the file has */

/* `kind` is what the file has to say of itself, with its version: "lenet 1". */
void network_open(const char *path, const char *kind);
void network_close(void);

/* End the program with what is wrong with the file. */
_Noreturn void network_refuse(const char *what);

/* The tensor of this name; sizes that are NETWORK_ANY are filled in. */
const float *network_tensor(const char *name, unsigned dimensions, size_t *shape);

/* Fill in how many inputs and outputs layer `number` has, where these are NETWORK_ANY. */
void network_shape(unsigned number, struct layer *layer);

/* A block with the weights of layer `number`, whose shape is known. */
struct blocks network_block(unsigned number, const struct layer *layer);

/* Whether a number is that of PyTorch, but for rounding. */
bool network_equal(double found, float expected);

#endif
