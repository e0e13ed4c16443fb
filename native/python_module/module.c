/* The empty Python module as which an environment's interpreter loads a fallback.
 *
 * It is compiled into the library with the name TRIMTAB_MODULE. The declarations follow the limited
 * API, so that one file serves every version, and programs without Python. */
#include <stddef.h>

#include "methods.h"

#define TEXT_OF(name) #name
#define NAME_IN_TEXT(name) TEXT_OF(name)
#define START_OF(name) PyInit_##name
#define START(name) START_OF(name)

extern void *PyModuleDef_Init(void *definition) __attribute__((weak));

/* struct PyModuleDef */
static struct {
  ptrdiff_t references;
  void *type, *init;
  ptrdiff_t index;
  void *copy;
  const char *name, *documentation;
  ptrdiff_t state_bytes;
  const struct method *methods;
  void *slots, *traverse, *clear, *free;
} module = {.references = 1,
            .name = NAME_IN_TEXT(TRIMTAB_MODULE),
            .methods = python_methods,
            .documentation = "Puts what was removed from this environment back."};

__attribute__((visibility("default"))) void *START(TRIMTAB_MODULE)(void);
void *START(TRIMTAB_MODULE)(void) { return PyModuleDef_Init(&module); }
