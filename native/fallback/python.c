/* The Python side: an exception in the main thread, and the module that loads this library.
 *
 * Declared here in the limited API's terms, so that one file serves every version and programs
 * without Python. */
#include "python.h"

#include <limits.h>
#include <stdio.h>

#define WEAK __attribute__((weak))
extern int Py_IsInitialized(void) WEAK;
extern int Py_AddPendingCall(int (*call)(void *), void *argument) WEAK;
extern void PyErr_SetString(void *type, const char *text) WEAK;
extern void *PyModuleDef_Init(void *definition) WEAK;
extern void *PyExc_RuntimeError WEAK;

static int raise_error(void *argument) {
  message_function *message = (message_function *)argument;
  static int said;
  char text[3 * PATH_MAX] = "trimtab: ";
  if (!message(text + 9, sizeof text - 9)) return 0;
  /* Code between here and the program may put an exception of its own in the place of ours. */
  if (!said++) fprintf(stderr, "%s\n", text);
  PyErr_SetString(PyExc_RuntimeError, text);
  return -1;
}

int raise_in_python(message_function *message) {
  if (!Py_AddPendingCall || !Py_IsInitialized) return 0;
  /* Before Python begins and after its end there is nothing to raise in: the message is printed
   * when the process ends. */
  if (Py_IsInitialized()) Py_AddPendingCall(raise_error, (void *)message);
  return 1;
}

/* struct PyModuleDef of a module that has nothing in it. */
static struct {
  ptrdiff_t references;
  void *type, *init;
  ptrdiff_t index;
  void *copy;
  const char *name, *documentation;
  ptrdiff_t state_bytes;
  void *methods, *slots, *traverse, *clear, *free;
} module = {.references = 1,
            .name = "trimtab_fallback",
            .documentation = "Puts functions that were removed from this environment back."};

__attribute__((visibility("default"))) void *PyInit_trimtab_fallback(void);
void *PyInit_trimtab_fallback(void) { return PyModuleDef_Init(&module); }
