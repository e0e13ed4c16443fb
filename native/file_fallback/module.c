/* The Python module as which an environment's interpreter loads this library: nothing is in it.
 *
 * Declared here in the limited API's terms, so that one file serves every version and programs
 * without Python. */
#include <stddef.h>

extern void *PyModuleDef_Init(void *definition) __attribute__((weak));

/* struct PyModuleDef */
static struct {
  ptrdiff_t references;
  void *type, *init;
  ptrdiff_t index;
  void *copy;
  const char *name, *documentation;
  ptrdiff_t state_bytes;
  void *methods, *slots, *traverse, *clear, *free;
} module = {.references = 1,
            .name = "trimtab_file_fallback",
            .documentation = "Puts files that were removed from this environment back."};

__attribute__((visibility("default"))) void *PyInit_trimtab_file_fallback(void);
void *PyInit_trimtab_file_fallback(void) { return PyModuleDef_Init(&module); }
