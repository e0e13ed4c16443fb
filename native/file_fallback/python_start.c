/* Starts the archive of modules (src/trimtab/debloating/module_archive) in the environment's Python:
 * runs the code at its beginning. In C, as Python would compile the same again at each start. */
#include <asm/unistd_64.h>
#include <fcntl.h>

#include "../python_module/methods.h"
#include "first_thread.h"
#include "listing.h"
#include "place.h"
#include "record.h"
#include "symbol.h"

enum { FIRST_BYTES = 1 << 14, MAGIC_BYTES = 4, PLACES_BYTES = 32 };

/* As writing.py names them: when the other fallback is loaded. */
enum { NEVER, WITH_THREADS, AT_ONCE };

static void load_fallback(long when) {
  char path[PATH_BYTES];
  if (when == NEVER || !path_of(path, 0, "trimtab/libtrimtab-fallback.so")) return;
  if (when == AT_ONCE || notes_mapped || !load_before_threads(path)) load_library(path);
}

static int read_first(const char *path, uint8_t first[FIRST_BYTES]) {
  long file = open_path(AT_FDCWD, path, O_RDONLY, 0);
  if (file < 0) return 0;
  long got = kernel(__NR_pread64, file, (long)first, FIRST_BYTES, 0, 0, 0);
  close_file(file);
  return got == FIRST_BYTES;
}

static int start_archive(void) {
  FUNCTION(long, PyImport_GetMagicNumber, void);
  FUNCTION(void *, PyMarshal_ReadObjectFromString, const char *, long);
  FUNCTION(void *, PyModule_New, const char *);
  FUNCTION(void *, PyModule_GetDict, void *);
  FUNCTION(int, PyDict_SetItemString, void *, const char *, void *);
  FUNCTION(void *, PyEval_GetBuiltins, void);
  FUNCTION(void *, PyEval_EvalCode, void *, void *, void *);
  FUNCTION(void *, PyBytes_FromStringAndSize, const char *, long);
  FUNCTION(void *, PyObject_CallMethod, void *, const char *, const char *, ...);
  FUNCTION(int, PyObject_IsTrue, void *);
  FUNCTION(void, PyErr_Clear, void);
  FUNCTION(void, Py_DecRef, void *);
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

/* start(when): load the other fallback, and return whether the archive was started. */
static void *start(void *self, void *when) {
  FUNCTION(long, PyLong_AsLong, void *);
  FUNCTION(void *, PyBool_FromLong, long);
  (void)self;
  load_fallback(PyLong_AsLong(when));
  return PyBool_FromLong(start_archive());
}

const struct method python_methods[] = {{"start", start, ONE_ARGUMENT, NULL}, {NULL, NULL, 0, NULL}};
