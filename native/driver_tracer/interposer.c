/* Records the GPU code that a process looks up, for programs with their own CUPTI profiler, which
 * exclude another one. This library is preloaded and intercepts the driver's lookups: its own
 * symbols for callers linked to libcuda, dlsym for its callers, and cuGetProcAddress for the CUDA
 * runtime.
 *
 * It sees names, not the modules that the driver loads for them; for code loaded by address it sees
 * the region. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "../records/driver.h"
#include "../records/kernels.h"
#include "../records/regions.h"

#define EXPORT __attribute__((visibility("default")))
#define NOT_INITIALIZED 3 /* CUDA_ERROR_NOT_INITIALIZED: there is no driver */

typedef void *dlsym_function(void *, const char *);

static dlsym_function *real_dlsym(void) {
  static dlsym_function *real;
  if (!real) real = (dlsym_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  return real;
}

static void *driver_function(const char *name) {
  static void *driver;
  if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? real_dlsym()(driver, name) : NULL;
}

#define REAL(name, ...) \
  __typeof__(&name) real = (__typeof__(&name))driver_function(#name); \
  return real ? real(__VA_ARGS__) : NOT_INITIALIZED

#define IMAGE(function, parameters, ...) \
  EXPORT int function parameters; \
  static int function##_of_driver parameters { REAL(function, __VA_ARGS__); } \
  EXPORT int function parameters { \
    int error = function##_of_driver(__VA_ARGS__); \
    record_gpus(driver_function); \
    if (!error) record_region(image); \
    return error; \
  }
IMAGE(cuModuleLoadData, (void *module, const void *image), module, image)
IMAGE(cuModuleLoadFatBinary, (void *module, const void *image), module, image)
IMAGE(cuModuleLoadDataEx,
      (void *module, const void *image, unsigned int count, void *options, void *values), module,
      image, count, options, values)

#define NAMED(function, kind) \
  EXPORT int function(void *result, void *container, const char *name) { \
    record_gpus(driver_function); \
    if (name) record(kind, name); \
    REAL(function, result, container, name); \
  }
NAMED(cuModuleGetFunction, "kernel")
NAMED(cuLibraryGetKernel, "kernel")
NAMED(cuLibraryGetUnifiedFunction, "kernel")
NAMED(cuModuleGetTexRef, "global")
NAMED(cuModuleGetSurfRef, "global")

#define VARIABLE(function) \
  EXPORT int function(void *address, size_t *bytes, void *container, const char *name) { \
    record_gpus(driver_function); \
    if (name) record("global", name); \
    REAL(function, address, bytes, container, name); \
  }
VARIABLE(cuModuleGetGlobal_v2)
VARIABLE(cuLibraryGetGlobal)
VARIABLE(cuLibraryGetManaged)

#define LIST(function, of_library) \
  static int function##_of_driver(void **handles, unsigned int limit, void *container) { \
    int (*real)(void **, unsigned int, void *) = \
        (int (*)(void **, unsigned int, void *))driver_function(#function); \
    return real ? real(handles, limit, container) : NOT_INITIALIZED; \
  } \
  EXPORT int function(void **handles, unsigned int limit, void *container) { \
    int error = function##_of_driver(handles, limit, container); \
    record_gpus(driver_function); \
    if (!error) record_list(driver_function, handles, limit, container, of_library); \
    return error; \
  }
LIST(cuModuleEnumerateFunctions, 0)
LIST(cuLibraryEnumerateKernels, 1)

EXPORT int cuGetProcAddress(const char *name, void **found, int version, uint64_t flags);
EXPORT int cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags,
                               int *status);

#define OURS(name) {#name, (void *)name, 0}
static const struct {
  const char *name;
  void *ours;
  int since; /* since this version of CUDA cuGetProcAddress means this function by the name */
} watched[] = {
    OURS(cuModuleLoadData),
    OURS(cuModuleLoadDataEx),
    OURS(cuModuleLoadFatBinary),
    OURS(cuModuleGetFunction),
    OURS(cuLibraryGetKernel),
    OURS(cuLibraryGetUnifiedFunction),
    OURS(cuModuleGetTexRef),
    OURS(cuModuleGetSurfRef),
    OURS(cuModuleGetGlobal_v2),
    {"cuModuleGetGlobal", (void *)cuModuleGetGlobal_v2, 3020},
    OURS(cuLibraryGetGlobal),
    OURS(cuLibraryGetManaged),
    OURS(cuModuleEnumerateFunctions),
    OURS(cuLibraryEnumerateKernels),
    OURS(cuGetProcAddress_v2),
    {"cuGetProcAddress", (void *)cuGetProcAddress_v2, 12000},
    OURS(cuGetProcAddress),
};

static void *ours_for(const char *name, int version) {
  for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
    if (!strcmp(name, watched[i].name) && version >= watched[i].since) return watched[i].ours;
  return NULL;
}

static int found_by_driver(int error, const char *name, void **found, int version) {
  void *ours = error || !name || !found || !*found ? NULL : ours_for(name, version);
  if (ours) *found = ours;
  return error;
}

int cuGetProcAddress(const char *name, void **found, int version, uint64_t flags) {
  int (*real)(const char *, void **, int, uint64_t) =
      (int (*)(const char *, void **, int, uint64_t))driver_function("cuGetProcAddress");
  if (!real) return NOT_INITIALIZED;
  return found_by_driver(real(name, found, version, flags), name, found, version);
}

int cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status) {
  int (*real)(const char *, void **, int, uint64_t, int *) =
      (int (*)(const char *, void **, int, uint64_t, int *))driver_function("cuGetProcAddress_v2");
  if (!real) return NOT_INITIALIZED;
  return found_by_driver(real(name, found, version, flags, status), name, found, version);
}

/* An exported symbol's version is part of its name: it has no later meaning. */
static void *dlsym_in_driver(void *handle, const char *name) {
  void *found = real_dlsym()(handle, name);
  return found ? ours_for(name, 0) : NULL;
}

__attribute__((used)) void *trimtab_dlsym_for(const char *name) {
  return name && ours_for(name, 0) ? (void *)dlsym_in_driver : (void *)real_dlsym();
}

/* dlsym depends on its caller (RTLD_NEXT), so the caller must stay the same: jump. */
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "  push %rdi\n"
        "  push %rsi\n"
        "  sub $8, %rsp\n"
        "  mov %rsi, %rdi\n"
        "  call trimtab_dlsym_for\n"
        "  add $8, %rsp\n"
        "  pop %rsi\n"
        "  pop %rdi\n"
        "  jmp *%rax\n"
        ".size dlsym, . - dlsym\n");
