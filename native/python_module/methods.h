/* What a library offers to Python, besides being loaded. The declarations follow the limited API. */
#ifndef TRIMTAB_METHODS_H
#define TRIMTAB_METHODS_H

enum { SEVERAL_ARGUMENTS = 1, ANY_ARGUMENTS = 3, NO_ARGUMENTS = 4, ONE_ARGUMENT = 8 }; /* METH_VARARGS and so on */

/* struct PyMethodDef */
struct method {
  const char *name;
  void *(*function)(void *self, void *argument);
  int flags;
  const char *documentation;
};

/* The last one has no name. A library may have none. */
extern const struct method python_methods[] __attribute__((weak, visibility("hidden")));

#endif
