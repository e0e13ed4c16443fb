#include "safetensors.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LENGTH_BYTES = 8, MOST_DIGITS = 12 };

static const char not_header[] = "its header is not what safetensors writes";
static const char twice[] = "a key of its header is there twice";

struct cursor {
    const char *at, *end;
};

/* The range of a tensor's data, relative to the first tensor's. */
struct range {
    size_t begin, end;
};

static void skip_spaces(struct cursor *cursor) {
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n')) cursor->at++;
}

static bool take(struct cursor *cursor, char expected) {
    skip_spaces(cursor);
    if (cursor->at == cursor->end || *cursor->at != expected) return false;
    cursor->at++;
    return true;
}

static bool take_text(struct cursor *cursor, struct text *text) {
    if (!take(cursor, '"')) return false;
    text->begin = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != '"') {
        if (*cursor->at < ' ' || *cursor->at > '~' || *cursor->at == '\\') return false;
        cursor->at++;
    }
    text->length = (size_t)(cursor->at - text->begin);
    return take(cursor, '"');
}

static bool take_number(struct cursor *cursor, size_t *number) {
    skip_spaces(cursor);
    const char *begin = cursor->at;
    for (*number = 0; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9';
         cursor->at++) {
        /* As in JSON, numbers have no leading zeros. */
        if (cursor->at - begin == MOST_DIGITS || (cursor->at > begin && *begin == '0')) return false;
        *number = 10 * *number + (size_t)(*cursor->at - '0');
    }
    return cursor->at > begin;
}

/* [1, 2, 3] with at most `most` numbers. */
static bool take_numbers(struct cursor *cursor, size_t *numbers, unsigned most, unsigned *count) {
    *count = 0;
    if (!take(cursor, '[')) return false;
    if (take(cursor, ']')) return true;
    do {
        if (*count == most || !take_number(cursor, &numbers[(*count)++])) return false;
    } while (take(cursor, ','));
    return take(cursor, ']');
}

static bool is(const struct text *text, const char *expected) {
    return text->length == strlen(expected) && !memcmp(text->begin, expected, text->length);
}

static bool same(const struct text *one, const struct text *other) {
    return one->length == other->length && !memcmp(one->begin, other->begin, one->length);
}

static const char *metadata_read(struct cursor *cursor, struct text *made_by) {
    if (made_by->begin) return twice;
    *made_by = (struct text){"", 0};
    if (!take(cursor, '{')) return not_header;
    if (take(cursor, '}')) return NULL;
    do {
        struct text key, value;
        if (!take_text(cursor, &key) || !take(cursor, ':') || !take_text(cursor, &value))
            return not_header;
        if (is(&key, "trimtab")) *made_by = value;
    } while (take(cursor, ','));
    return take(cursor, '}') ? NULL : not_header;
}

/* The shape must have at least one number, and as many as the range holds. */
static const char *shape_refused(struct tensor *tensor, const struct range *range) {
    tensor->numbers = 1;
    for (unsigned i = 0; i < tensor->dimensions; i++) {
        if (tensor->shape[i] == 0) return "a tensor has no numbers";
        if (tensor->shape[i] > TENSORS_MOST_NUMBERS / tensor->numbers) return "a tensor is too large";
        tensor->numbers *= tensor->shape[i];
    }
    if (range->begin > range->end || range->end - range->begin != tensor->numbers * sizeof(float) ||
        range->begin % sizeof(float))
        return "a tensor's data_offsets do not fit its shape";
    return NULL;
}

static const char *tensor_read(struct cursor *cursor, struct tensor *tensor, struct range *range) {
    struct text key, type = {NULL, 0};
    size_t offsets[2] = {1, 0};
    unsigned offset_count = 0;
    bool has_shape = false;
    if (!take(cursor, '{')) return not_header;
    do {
        if (!take_text(cursor, &key) || !take(cursor, ':')) return not_header;
        if (is(&key, "dtype")) {
            if (type.begin) return twice;
            if (!take_text(cursor, &type)) return not_header;
        } else if (is(&key, "shape")) {
            if (has_shape) return twice;
            has_shape = true;
            if (!take_numbers(cursor, tensor->shape, TENSORS_MOST_DIMENSIONS, &tensor->dimensions))
                return "a shape is not up to 4 whole numbers";
        } else if (is(&key, "data_offsets")) {
            if (offset_count) return twice;
            if (!take_numbers(cursor, offsets, 2, &offset_count) || offset_count != 2)
                return "data_offsets are not two whole numbers";
        } else {
            return not_header;
        }
    } while (take(cursor, ','));
    if (!take(cursor, '}') || !type.begin || !has_shape || !offset_count) return not_header;
    if (!is(&type, "F32")) return "a tensor's dtype is not F32";
    *range = (struct range){offsets[0], offsets[1]};
    return shape_refused(tensor, range);
}

/* Tensors must tile the data: each begins where another one ends. */
static bool tile(const struct tensors *tensors, const char *data, size_t data_bytes) {
    const char *end = data;
    for (unsigned found = 0; found < tensors->count; found++) {
        unsigned next = 0;
        while (next < tensors->count && (const char *)tensors->of[next].data != end) next++;
        if (next == tensors->count) return false;
        end += tensors->of[next].numbers * sizeof(float);
    }
    return end == data + data_bytes;
}

static const char *tensors_of(struct cursor *cursor, const char *data, size_t data_bytes,
                              struct tensors *tensors) {
    if (cursor->at == cursor->end || *cursor->at != '{') return not_header;
    cursor->at++;
    do {
        struct tensor tensor = {0};
        struct range range;
        const char *wrong;
        if (!take_text(cursor, &tensor.name) || !take(cursor, ':')) return not_header;
        if (is(&tensor.name, "__metadata__")) {
            if ((wrong = metadata_read(cursor, &tensors->made_by))) return wrong;
            continue;
        }
        if ((wrong = tensor_read(cursor, &tensor, &range))) return wrong;
        for (unsigned i = 0; i < tensors->count; i++)
            if (same(&tensors->of[i].name, &tensor.name)) return twice;
        if (tensors->count == TENSORS_MOST) return "more than 64 tensors";
        if (range.end > data_bytes) return "cut off: a tensor lies beyond its end";
        tensor.data = (const float *)(const void *)(data + range.begin);
        tensors->of[tensors->count++] = tensor;
    } while (take(cursor, ','));
    if (!take(cursor, '}')) return not_header;
    skip_spaces(cursor);
    if (cursor->at < cursor->end) return not_header;
    return tile(tensors, data, data_bytes) ? NULL : "it has bytes of no tensor, or of several";
}

const char *tensors_read(const char *file, size_t bytes, struct tensors *tensors) {
    memset(tensors, 0, sizeof *tensors);
    uint64_t header_bytes = 0;
    if (bytes < LENGTH_BYTES) return "cut off: no safetensors file is as short";
    for (unsigned i = LENGTH_BYTES; i-- > 0;)
        header_bytes = header_bytes << 8 | (unsigned char)file[i];
    if (header_bytes > TENSORS_MOST_HEADER_BYTES) return "no safetensors file: its header is too long";
    if (header_bytes > bytes - LENGTH_BYTES) return "cut off: it ends in its header";
    if (header_bytes % LENGTH_BYTES) return "its header is not padded to 8 bytes";
    const char *header = file + LENGTH_BYTES, *data = header + header_bytes;
    struct cursor cursor = {header, data};
    return tensors_of(&cursor, data, bytes - LENGTH_BYTES - (size_t)header_bytes, tensors);
}
