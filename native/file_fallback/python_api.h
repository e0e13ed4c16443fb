/* What this library uses of Python, by the names of its C API; objects are void *. It is looked up in
 * Python only: other programs do not have it. */
#ifndef TRIMTAB_PYTHON_API_H
#define TRIMTAB_PYTHON_API_H

#define EACH_FUNCTION(DO)                                             \
  DO(void *, PySys_GetObject, const char *)                           \
  DO(void *, PyModule_GetDict, void *)                                \
  DO(void *, PyDict_New, void)                                        \
  DO(void *, PyDict_Keys, void *)                                     \
  DO(void *, PyDict_GetItem, void *, void *)                          \
  DO(void *, PyDict_GetItemString, void *, const char *)              \
  DO(int, PyDict_SetItemString, void *, const char *, void *)         \
  DO(int, PyDict_DelItem, void *, void *)                             \
  DO(void *, PyList_New, long)                                        \
  DO(long, PyList_Size, void *)                                       \
  DO(void *, PyList_GetItem, void *, long)                            \
  DO(int, PyList_Append, void *, void *)                              \
  DO(int, PyList_Insert, void *, long, void *)                        \
  DO(long, PySequence_Index, void *, void *)                          \
  DO(void *, PyObject_GetAttrString, void *, const char *)            \
  DO(void *, PyObject_GetItem, void *, void *)                        \
  DO(void *, PyObject_Type, void *)                                   \
  DO(int, PyObject_RichCompareBool, void *, void *, int)              \
  DO(void *, PyObject_CallFunction, void *, const char *, ...)        \
  DO(void *, PyEval_GetBuiltins, void)                                \
  DO(void *, PyEval_EvalCode, void *, void *, void *)                 \
  DO(long, PyImport_GetMagicNumber, void)                             \
  DO(void *, PyMarshal_ReadObjectFromString, const char *, long)      \
  DO(void *, PyBytes_FromStringAndSize, const char *, long)           \
  DO(char *, PyBytes_AsString, void *)                                \
  DO(void *, PyUnicode_FromString, const char *)                      \
  DO(void *, PyUnicode_FromFormat, const char *, ...)                 \
  DO(void *, PyUnicode_EncodeFSDefault, void *)                       \
  DO(int, PyUnicode_CompareWithASCIIString, void *, const char *)     \
  DO(long, PyUnicode_Tailmatch, void *, void *, long, long, int)      \
  DO(long, PyLong_AsLong, void *)                                     \
  DO(void *, PyBool_FromLong, long)                                   \
  DO(int, PyArg_ParseTuple, void *, const char *, ...)                \
  DO(int, PyArg_ParseTupleAndKeywords, void *, void *, const char *, char **, ...) \
  DO(void *, PyErr_SetImportErrorSubclass, void *, void *, void *, void *) \
  DO(void, PyErr_Clear, void)                                         \
  DO(void, Py_IncRef, void *)                                         \
  DO(void, Py_DecRef, void *)

#define FIELD(type, name, ...) type (*name)(__VA_ARGS__);
struct python {
  EACH_FUNCTION(FIELD)
  void *none, **not_found; /* the object, and the exception class */
};

/* Returns 0 if a function is missing. */
int find_python(void);
extern struct python py;

enum { EQUAL = 2 /* Py_EQ */, BEGINNING = -1 };

/* python_finder.c: remember what a program may replace to find modules in its own way; and what the
 * module offers besides. */
int note_machinery(void *names);
void *find_spec(void *self, void *arguments, void *keywords);
void *is_before_python(void *self, void *nothing);
void *read_code(void *self, void *arguments);

#endif
