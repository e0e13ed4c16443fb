#define _GNU_SOURCE
#include "network.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 30, ALIGNMENT = 8, NAME = 32 };

/* Files hold results of double precision, rounded to single. */
static const double tolerance = 1e-6;

static struct {
    const char *path;
    char *bytes;
    struct tensors tensors;
} network;

void network_refuse(const char *what) {
    fprintf(stderr, "%s: %s; a workload's --save-network writes such files\n", network.path, what);
    exit(FAILED);
}

/* Read all of it, as a mapped file may become shorter meanwhile. */
static size_t read_whole(int file) {
    struct stat status;
    if (fstat(file, &status) || !S_ISREG(status.st_mode)) network_refuse("not a regular file");
    if (status.st_size > MOST_BYTES) network_refuse("larger than 1 GiB");
    size_t room = (size_t)status.st_size, done = 0;
    if (posix_memalign((void **)&network.bytes, ALIGNMENT, room + 1)) network_refuse("no memory for it");
    while (done < room) {
        ssize_t got = read(file, network.bytes + done, room - done);
        if (got <= 0) network_refuse("cannot be read to its end");
        done += (size_t)got;
    }
    return done;
}

void network_open(const char *path, const char *kind) {
    network.path = path;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) network_refuse("cannot be opened");
    size_t bytes = read_whole(file);
    close(file);
    struct tensors *tensors = &network.tensors;
    const char *wrong = tensors_read(network.bytes, bytes, tensors);
    if (wrong) network_refuse(wrong);
    char what[2 * NAME];
    snprintf(what, sizeof what, "its metadata does not say trimtab: %s", kind);
    const struct text *made_by = &tensors->made_by;
    if (made_by->length != strlen(kind) || memcmp(made_by->begin, kind, made_by->length))
        network_refuse(what);
    for (unsigned i = 0; i < tensors->count; i++)
        for (size_t at = 0; at < tensors->of[i].numbers; at++)
            if (!isfinite(tensors->of[i].data[at])) network_refuse("a number of it is not finite");
}

void network_close(void) {
    free(network.bytes);
}

const float *network_tensor(const char *name, unsigned dimensions, size_t *shape) {
    char what[4 * NAME];
    const struct tensor *found = NULL;
    for (unsigned i = 0; i < network.tensors.count; i++) {
        const struct tensor *tensor = &network.tensors.of[i];
        if (tensor->name.length == strlen(name) &&
            !memcmp(tensor->name.begin, name, tensor->name.length))
            found = tensor;
    }
    snprintf(what, sizeof what, "it has no tensor %s", name);
    if (!found) network_refuse(what);
    bool fits = found->dimensions == dimensions;
    for (unsigned i = 0; i < dimensions && fits; i++) {
        if (shape[i] == NETWORK_ANY) shape[i] = found->shape[i];
        fits = shape[i] == found->shape[i];
    }
    snprintf(what, sizeof what, "its tensor %s has another shape than such a network", name);
    if (!fits) network_refuse(what);
    return found->data;
}

static const float *part_of(const char *part, unsigned number, unsigned dimensions,
                            size_t *shape) {
    char name[NAME];
    snprintf(name, sizeof name, "%s.%u", part, number);
    return network_tensor(name, dimensions, shape);
}

void network_shape(unsigned number, struct layer *layer) {
    size_t shape[] = {layer->outputs, layer->inputs, layer->kernel, layer->kernel};
    part_of("weights", number, 4, shape);
    if (shape[0] > LAYER_MOST || shape[1] > LAYER_MOST) network_refuse("a layer has too many channels");
    layer->outputs = shape[0];
    layer->inputs = shape[1];
}

struct blocks network_block(unsigned number, const struct layer *layer) {
    size_t shape[] = {layer->outputs, layer->inputs, layer->kernel, layer->kernel};
    struct blocks block = blocks_new(1, layer_numbers(layer));
    double *numbers = malloc(block.numbers * sizeof *numbers);
    if (!numbers) network_refuse("no memory for it");
    layer_write(layer, part_of("weights", number, 4, shape), part_of("biases", number, 1, shape),
                numbers);
    block_write(&block, 0, numbers);
    free(numbers);
    return block;
}

bool network_equal(double found, float expected) {
    double size = fmax(1, fabs((double)expected));
    return fabs(found - (double)expected) <= tolerance * size;
}
