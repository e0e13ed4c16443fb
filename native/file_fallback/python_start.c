/* Starts the archive of modules (src/trimtab/debloating/module_archive) in the environment's Python:
 * runs the code at its beginning. In C, as Python would compile the same again at each start. */
#include <asm/unistd_64.h>
#include <fcntl.h>

#include "../python_module/methods.h"
#include "listing.h"
#include "place.h"

enum { FIRST_BYTES = 1 << 14, MAGIC_BYTES = 4, PLACES_BYTES = 32, NOW = 2 /* RTLD_NOW */ };

extern void *dlsym(void *library, const char *name) __attribute__((weak));

/* Other programs have none of these: they are not looked up when the library is loaded. */
#define PYTHON(type, name, ...) type (*name)(__VA_ARGS__) = (type(*)(__VA_ARGS__))dlsym(NULL, #name)

/* Load the other fallback, if the environment has it. */
static void load_fallback(void) {
  PYTHON(void *, dlopen, const char *, int);
  char path[PATH_BYTES];
  if (dlopen && path_of(path, 0, "trimtab/libtrimtab-fallback.so")) dlopen(path, NOW);
}

static int read_first(const char *path, uint8_t first[FIRST_BYTES]) {
  long file = open_path(AT_FDCWD, path, O_RDONLY, 0);
  if (file < 0) return 0;
  long got = kernel(__NR_pread64, file, (long)first, FIRST_BYTES, 0, 0, 0);
  close_file(file);
  return got == FIRST_BYTES;
}

static int start_archive(void) {
  PYTHON(long, PyImport_GetMagicNumber, void);
  PYTHON(void *, PyMarshal_ReadObjectFromString, const char *, long);
  PYTHON(void *, PyModule_New, const char *);
  PYTHON(void *, PyModule_GetDict, void *);
  PYTHON(int, PyDict_SetItemString, void *, const char *, void *);
  PYTHON(void *, PyEval_GetBuiltins, void);
  PYTHON(void *, PyEval_EvalCode, void *, void *, void *);
  PYTHON(void *, PyBytes_FromStringAndSize, const char *, long);
  PYTHON(void *, PyObject_CallMethod, void *, const char *, const char *, ...);
  PYTHON(int, PyObject_IsTrue, void *);
  PYTHON(void, PyErr_Clear, void);
  PYTHON(void, Py_DecRef, void *);
  uint8_t first[FIRST_BYTES];
  const char *code_at = (const char *)first + MAGIC_BYTES + PLACES_BYTES;
  char path[PATH_BYTES];
  uint32_t magic;
  if (!path_of(path, 0, "trimtab/modules") || !read_first(path, first)) return 0;
  memcpy(&magic, first, sizeof magic);
  if (magic != (uint32_t)PyImport_GetMagicNumber()) return 0;
  void *code = PyMarshal_ReadObjectFromString(code_at, FIRST_BYTES - MAGIC_BYTES - PLACES_BYTES);
  void *module = PyModule_New("trimtab_modules"), *done = NULL;
  void *places = PyBytes_FromStringAndSize((const char *)first + MAGIC_BYTES, PLACES_BYTES);
  if (code && module && places) {
    void *names = PyModule_GetDict(module), *none = NULL;
    if (!PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()))
      none = PyEval_EvalCode(code, names, names);
    if (none) done = PyObject_CallMethod(module, "start", "OsO", module, path, places);
    if (done && PyObject_IsTrue(done)) hide_once("00_trimtab_fallback.pth");
    Py_DecRef(none);
  }
  void *const all[] = {code, module, places, done};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) Py_DecRef(all[i]);
  if (!done) PyErr_Clear();
  return done != NULL;
}

/* start(has_fallback): load the fallback too, if there is one. */
static void *start(void *self, void *has_fallback) {
  PYTHON(int, PyObject_IsTrue, void *);
  PYTHON(void *, PyBool_FromLong, long);
  (void)self;
  if (PyObject_IsTrue(has_fallback)) load_fallback();
  return PyBool_FromLong(start_archive());
}

const struct method python_methods[] = {{"start", start, ONE_ARGUMENT, NULL}, {NULL, NULL, 0, NULL}};
