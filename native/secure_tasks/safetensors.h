/* The header of a file of tensors in Hugging Face's safetensors format: its length in 8 bytes, JSON
 * with each tensor's name, type, shape and place, then the tensors.
 *
 * The file is not trusted. Also refused, beyond the format's rules: types other than F32, names
 * with anything but printable ASCII, headers that are not padded to 8 bytes. */
#ifndef TRIMTAB_SAFETENSORS_H
#define TRIMTAB_SAFETENSORS_H

#include <stddef.h>

enum {
    TENSORS_MOST = 64,
    TENSORS_MOST_DIMENSIONS = 4,
    TENSORS_MOST_HEADER_BYTES = 1 << 16,
    TENSORS_MOST_NUMBERS = 1 << 26, /* of one tensor */
};

struct text {
    const char *begin;
    size_t length;
};

struct tensor {
    struct text name;
    unsigned dimensions;
    size_t shape[TENSORS_MOST_DIMENSIONS], numbers;
    const float *data;
};

struct tensors {
    unsigned count;
    struct text made_by; /* the value of "trimtab" in the file's metadata */
    struct tensor of[TENSORS_MOST];
};

/* Read the header of a whole file, aligned to 8 bytes; texts and data stay in it. Returns the
 * mistake, or null. */
const char *tensors_read(const char *file, size_t bytes, struct tensors *tensors);

#endif
