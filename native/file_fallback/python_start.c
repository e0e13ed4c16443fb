/* Starts the archive of modules (src/trimtab/debloating/module_archive) in the environment's Python. In
 * C, as Python would load the code for it at each start, which takes longer than all of this. */
#include <asm/unistd_64.h>
#include <fcntl.h>

#include "../python_module/methods.h"
#include "first_thread.h"
#include "listing.h"
#include "place.h"
#include "python_api.h"
#include "record.h"
#include "snapshot_start.h"
#include "symbol.h"

enum { FIRST_BYTES = 1 << 12, MAGIC_BYTES = 4, PLACES_BYTES = 32 };

struct python py;

int find_python(void) {
#define NAME(type, name, ...) #name,
  static const char *const names[] = {EACH_FUNCTION(NAME) "_Py_NoneStruct", "PyExc_ModuleNotFoundError"};
  void **to = (void **)&py;
  for (size_t i = 0; i < sizeof names / sizeof *names && dlsym; i++)
    if (!(to[i] = dlsym(NULL, names[i]))) return 0;
  return dlsym != NULL;
}

/* As writing.py names them: when the other fallback is loaded. */
enum { NEVER, WITH_THREADS, AT_ONCE, HAS_SNAPSHOTS = 4 };

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

/* Set a new object, which may be NULL, in a dictionary. */
static int set_new(void *names, const char *name, void *object) {
  int is_set = object && !py.PyDict_SetItemString(names, name, object);
  py.Py_DecRef(object);
  return is_set;
}

static int read_archive(void *names) {
  uint8_t first[FIRST_BYTES];
  const char *folders = (const char *)first + MAGIC_BYTES + PLACES_BYTES;
  char path[PATH_BYTES];
  uint32_t magic;
  if (!path_of(path, 0, "trimtab/modules") || !read_first(path, first)) return 0;
  memcpy(&magic, first, sizeof magic);
  return magic == (uint32_t)py.PyImport_GetMagicNumber() &&
         set_new(names, "places", py.PyBytes_FromStringAndSize((const char *)first + MAGIC_BYTES, PLACES_BYTES)) &&
         set_new(names, "folders", py.PyMarshal_ReadObjectFromString(folders, first + FIRST_BYTES - (uint8_t *)folders));
}

static int begins_in(void *text, const char *prefix) {
  void *begin = py.PySys_GetObject(prefix);
  return begin && py.PyUnicode_Tailmatch(text, begin, 0, INT32_MAX, BEGINNING) > 0;
}

/* Forget folders that Python listed before the library was loaded, which lists removed files too. The
 * base Python of a venv lost no files. */
static void forget_folders(void) {
  void *cache = py.PySys_GetObject("path_importer_cache"), *keys = cache ? py.PyDict_Keys(cache) : NULL;
  for (long i = keys ? py.PyList_Size(keys) : 0; i-- > 0;) {
    void *folder = py.PyList_GetItem(keys, i);
    if (begins_in(folder, "prefix") || !begins_in(folder, "base_prefix")) py.PyDict_DelItem(cache, folder);
  }
  py.Py_DecRef(keys);
}

/* A Python that optimizes has other byte code, and one with a prefix for it has it elsewhere. */
static int is_usual(void) {
  void *level = py.PyObject_GetAttrString(py.PySys_GetObject("flags"), "optimize");
  long optimizes = level ? py.PyLong_AsLong(level) : 1;
  void *prefix = py.PySys_GetObject("pycache_prefix");
  py.Py_DecRef(level);
  return !optimizes && (!prefix || prefix == py.none);
}

static void start_archive(void *self) {
  void *names = py.PyModule_GetDict(self), *finders = py.PySys_GetObject("meta_path");
  if (!names || !finders || !read_archive(names) || !note_machinery(names)) return;
  long before = py.PySequence_Index(finders, py.PyDict_GetItemString(names, "python"));
  if (before >= 0 && is_usual()) py.PyList_Insert(finders, before, self);
  /* `site` runs the lines of a venv's site-packages twice. */
  if (!py.PyObject_RichCompareBool(py.PySys_GetObject("prefix"), py.PySys_GetObject("base_prefix"), EQUAL))
    hide_once("00_trimtab_fallback.pth");
}

/* start(when): go on from a snapshot; without one load the other fallback, and start the archive unless it
 * is damaged. */
static void *start(void *self, void *when) {
  void *modules = find_python() ? py.PySys_GetObject("modules") : NULL;
  if (!modules) return NULL;
  if (!py.PyDict_GetItemString(modules, "trimtab_file_fallback")) {
    long how = py.PyLong_AsLong(when);
    int is_recorded = is_start_recorded();
    if (how & HAS_SNAPSHOTS && !is_recorded) go_on_from_snapshot();
    load_fallback(how & ~HAS_SNAPSHOTS);
    forget_folders();
    start_archive(self);
    py.PyDict_SetItemString(modules, "trimtab_file_fallback", self);
    py.PyErr_Clear();
    if (is_recorded) record_start();
  }
  py.Py_IncRef(py.none);
  return py.none;
}

const struct method python_methods[] = {{"start", start, ONE_ARGUMENT, NULL},
                                        {"find_spec", (void *(*)(void *, void *))(void *)find_spec, ANY_ARGUMENTS, NULL},
                                        {"is_before_python", is_before_python, NO_ARGUMENTS, NULL},
                                        {"read_code", read_code, SEVERAL_ARGUMENTS, NULL},
                                        {NULL, NULL, 0, NULL}};
