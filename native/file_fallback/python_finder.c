/* The finder of modules, until one that the archive may have is imported: then it reads the archive's
 * own code (finder.py), which knows all others. */
#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "answer.h"
#include "place.h"
#include "python_api.h"

enum { TOKEN_AT = 24, TOKEN_BYTES = 8, TO_SITE = 3 /* frames from importlib's to the one that imports */ };

/* `site` asks for these at each start, and they rarely exist. */
static int is_at_each_start(void *name) {
  return !py.PyUnicode_CompareWithASCIIString(name, "sitecustomize") ||
         !py.PyUnicode_CompareWithASCIIString(name, "usercustomize");
}

static int append_new(void *list, void *object) {
  if (!object) {
    py.PyErr_Clear();
    return !py.PyList_Append(list, py.none);
  }
  int failed = py.PyList_Append(list, object);
  py.Py_DecRef(object);
  return !failed;
}

static int append_attribute(void *list, void *owner, const char *name) {
  return append_new(list, py.PyObject_GetAttrString(owner, name));
}

static void *external(const char *name) {
  void *modules = py.PySys_GetObject("modules");
  void *module = modules ? py.PyDict_GetItemString(modules, "_frozen_importlib_external") : NULL;
  return module ? py.PyObject_GetAttrString(module, name) : NULL;
}

/* A new list of what a program may replace to find or load modules in its own way, with the first
 * `hooks` of the path hooks: those that are added after Python's own are asked for no folder. */
static void *machinery(void *python, void *file_finder, long hooks) {
  static const char *const methods[] = {"get_code", "source_to_code", "get_data", "get_filename",
                                        "path_stats", "create_module", "exec_module"};
  void *list = py.PyList_New(0), *loader = external("SourceFileLoader");
  void *own = py.PyObject_GetAttrString(python, "__dict__"), *name = py.PyUnicode_FromString("find_spec");
  void *path_hooks = py.PySys_GetObject("path_hooks"), *prefix = py.PySys_GetObject("pycache_prefix");
  int whole = list && loader && own && name && path_hooks;
  if (whole) whole = append_new(list, py.PyObject_GetItem(own, name)) && append_attribute(list, file_finder, "find_spec");
  for (size_t i = 0; whole && i < sizeof methods / sizeof *methods; i++)
    whole = append_attribute(list, loader, methods[i]);
  for (long i = 0; whole && i < hooks && i < py.PyList_Size(path_hooks); i++)
    whole = !py.PyList_Append(list, py.PyList_GetItem(path_hooks, i));
  if (whole) whole = !py.PyList_Append(list, prefix ? prefix : py.none);
  void *const used[] = {loader, own, name};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++) py.Py_DecRef(used[i]);
  if (whole) return list;
  py.Py_DecRef(list);
  return NULL;
}

int note_machinery(void *names) {
  void *python = external("PathFinder"), *file_finder = external("FileFinder");
  void *path_hooks = py.PySys_GetObject("path_hooks");
  void *list = python && file_finder && path_hooks ? machinery(python, file_finder, py.PyList_Size(path_hooks)) : NULL;
  int noted = list && !py.PyDict_SetItemString(names, "machinery", list) &&
              !py.PyDict_SetItemString(names, "python", python) &&
              !py.PyDict_SetItemString(names, "file_finder", file_finder);
  void *const used[] = {python, file_finder, list};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++) py.Py_DecRef(used[i]);
  return noted;
}

/* Whether Python's own finder is the next one, and as it was at the start. */
static int is_next(void *self) {
  enum { OTHERS = 10 /* of `machinery`, besides hooks */ };
  void *names = py.PyModule_GetDict(self), *finders = py.PySys_GetObject("meta_path");
  void *python = py.PyDict_GetItemString(names, "python"), *noted = py.PyDict_GetItemString(names, "machinery");
  long at = finders ? py.PySequence_Index(finders, self) : -1;
  if (at < 0 || at + 1 >= py.PyList_Size(finders) || py.PyList_GetItem(finders, at + 1) != python) return 0;
  void *now = machinery(python, py.PyDict_GetItemString(names, "file_finder"), py.PyList_Size(noted) - OTHERS);
  int same = now && py.PyObject_RichCompareBool(now, noted, EQUAL) > 0;
  py.Py_DecRef(now);
  return same;
}

void *is_before_python(void *self, void *nothing) {
  (void)nothing;
  int is = is_next(self);
  py.PyErr_Clear();
  return py.PyBool_FromLong(is);
}

static int is_called_by_site(void) {
  void *frame = py.PyObject_CallFunction(py.PySys_GetObject("_getframe"), "i", TO_SITE);
  void *names = frame ? py.PyObject_GetAttrString(frame, "f_globals") : NULL;
  void *name = names ? py.PyDict_GetItemString(names, "__name__") : NULL;
  int is = name && !py.PyUnicode_CompareWithASCIIString(name, "site");
  py.Py_DecRef(names);
  py.Py_DecRef(frame);
  return is;
}

/* Whether a folder of the search path is as it was when it had none of these modules. */
static int is_without(void *names, void *folder) {
  void *importer = py.PyDict_GetItem(py.PySys_GetObject("path_importer_cache"), folder);
  if (importer == py.none) return 1; /* nothing is there, as in most cases at python311.zip */
  void *type = importer ? py.PyObject_Type(importer) : NULL;
  int is_other = importer && type != py.PyDict_GetItemString(names, "file_finder");
  py.Py_DecRef(type);
  void *path = is_other ? NULL : py.PyUnicode_EncodeFSDefault(folder);
  if (!path || !*py.PyBytes_AsString(path)) { /* "": the working folder */
    py.Py_DecRef(path);
    return 0;
  }
  struct status status;
  const long arguments[6] = {AT_FDCWD, (long)py.PyBytes_AsString(path), (long)&status, 0, 0, 0};
  long error = is_in_environment ? answer(__NR_newfstatat, arguments)
                                 : status_of(AT_FDCWD, (const char *)arguments[1], 0, &status);
  py.Py_DecRef(path);
  if (error) return error == -ENOENT;
  void *time = py.PyDict_GetItem(py.PyDict_GetItemString(names, "folders"), folder);
  return time && py.PyLong_AsLong(time) == status.modified[0] * 1000000000 + status.modified[1];
}

/* Whether `site` imports, and no folder that Python would search has such a module. */
static int is_absent(void *self) {
  void *names = py.PyModule_GetDict(self), *path = py.PySys_GetObject("path");
  void *finders = py.PySys_GetObject("meta_path");
  if (!is_called_by_site() || !is_next(self) || !path) return 0;
  if (py.PyList_GetItem(finders, py.PyList_Size(finders) - 1) != py.PyDict_GetItemString(names, "python")) return 0;
  long folders = py.PyList_Size(path);
  for (long i = 0; i < folders; i++)
    if (!is_without(names, py.PyList_GetItem(path, i))) return 0;
  return folders >= 0;
}

/* The whole archive. A rebuilt environment has another file there. */
static struct {
  const char *bytes;
  uint64_t size;
} archive;

static int map_archive(void) {
  char path[PATH_BYTES];
  struct status status;
  if (archive.bytes) return 1;
  long file = path_of(path, 0, "trimtab/modules") ? open_path(AT_FDCWD, path, O_RDONLY, 0) : -1;
  if (file < 0) return 0;
  long at = KERNEL(__NR_fstat, file, &status, 0, 0);
  if (!at) at = kernel(__NR_mmap, 0, status.bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close_file(file);
  if (at < 0 && at > -PATH_BYTES) return 0;
  archive.size = (uint64_t)status.bytes;
  archive.bytes = (const char *)at;
  return 1;
}

/* The finder's function; NULL if the archive is gone or damaged. */
static void *load_finder(void *self, void *names) {
  void *places = py.PyDict_GetItemString(names, "places");
  uint64_t at[TOKEN_AT / sizeof(uint64_t)]; /* of the finder's code, the index and its end */
  if (!places || !map_archive()) return NULL;
  const char *expected = py.PyBytes_AsString(places);
  memcpy(at, expected, sizeof at);
  if (at[0] > at[1] || at[1] - at[0] < TOKEN_BYTES || at[1] > at[2] || at[2] > archive.size) return NULL;
  const char *text = archive.bytes + at[0];
  if (memcmp(text, expected + TOKEN_AT, TOKEN_BYTES)) return NULL;
  void *code = py.PyMarshal_ReadObjectFromString(text + TOKEN_BYTES, (long)(at[1] - at[0] - TOKEN_BYTES));
  void *index = py.PyMarshal_ReadObjectFromString(archive.bytes + at[1], (long)(at[2] - at[1]));
  void *own = py.PyDict_New(), *done = NULL, *object = NULL, *found = NULL;
  if (code && own && index && !py.PyDict_SetItemString(own, "__builtins__", py.PyEval_GetBuiltins()))
    done = py.PyEval_EvalCode(code, own, own);
  void *class = done ? py.PyDict_GetItemString(own, "ModuleArchive") : NULL;
  if (class) object = py.PyObject_CallFunction(class, "OO", index, self);
  if (object) found = py.PyObject_GetAttrString(object, "find_spec");
  void *const used[] = {code, own, index, done, object};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++) py.Py_DecRef(used[i]);
  return found;
}

/* read_code(from, to): what is at these bytes of the archive; None if it is damaged. */
void *read_code(void *self, void *arguments) {
  unsigned long long from, to;
  void *code = NULL;
  (void)self;
  if (!py.PyArg_ParseTuple(arguments, "KK", &from, &to)) return NULL;
  if (from <= to && to <= archive.size)
    code = py.PyMarshal_ReadObjectFromString(archive.bytes + from, (long)(to - from));
  if (code) return code;
  py.PyErr_Clear();
  py.Py_IncRef(py.none);
  return py.none;
}

static void *finder(void *self) {
  void *names = py.PyModule_GetDict(self), *found = py.PyDict_GetItemString(names, "find");
  if (found) return found;
  found = load_finder(self, names);
  py.PyErr_Clear();
  if (!found) py.Py_IncRef(found = py.none);
  py.PyDict_SetItemString(names, "find", found);
  py.Py_DecRef(found);
  return found;
}

/* find_spec(name, path=None, target=None): what Python's own finder would return, or None. */
void *find_spec(void *self, void *arguments, void *keywords) {
  static char *words[] = {"name", "path", "target", NULL};
  void *name, *path = py.none, *target = py.none;
  if (!py.PyArg_ParseTupleAndKeywords(arguments, keywords, "U|OO:find_spec", words, &name, &path, &target)) return NULL;
  if (is_at_each_start(name)) {
    int absent = is_absent(self);
    py.PyErr_Clear();
    if (absent) {
      void *told = py.PyUnicode_FromFormat("No module named %R", name);
      if (told) py.PyErr_SetImportErrorSubclass(*py.not_found, told, name, NULL);
      py.Py_DecRef(told);
      return NULL;
    }
  } else {
    void *find = finder(self);
    if (find != py.none) return py.PyObject_CallFunction(find, "OO", name, path);
  }
  py.Py_IncRef(py.none);
  return py.none;
}
