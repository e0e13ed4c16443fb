/* A stand-in for libcuda.so.1: it loads the injection library at cuInit, reports its calls to the
 * stand-in for CUPTI as the driver does, knows two GPUs and every name, and computes nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void event(int domain, uint32_t id, const void *data) {
  const char *path = getenv("TRIMTAB_CUPTI");
  void *cupti = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
  void (*report)(int, uint32_t, const void *) =
      cupti ? (void (*)(int, uint32_t, const void *))dlsym(cupti, "stand_in_event") : NULL;
  if (report) report(domain, id, data);
}

struct call {
  int site;
  const char *name;
  const void *arguments;
  void *result;
  const char *symbol;
  void *context;
  uint32_t context_id;
  uint64_t *correlation;
  uint32_t correlation_id;
};

static void reported(int site, uint32_t id, const void *arguments) {
  int result = 0;
  uint64_t correlation = 0;
  struct call call = {
      .site = site, .arguments = arguments, .result = &result, .correlation = &correlation};
  event(1, id, &call);
}

static int called(uint32_t id, const void *arguments) {
  reported(0, id, arguments);
  reported(1, id, arguments);
  return 0;
}

int cuInit(unsigned int flags) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  int (*inject)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
  if (inject && inject() != 1) return 999;
  event(3, 5, &(struct { void *context, *stream, *descriptor; }){0});
  return (int)flags;
}

int cuDeviceGetCount(int *count) { return *count = 2, 0; }
int cuDeviceGet(int *device, int index) { return *device = index, 0; }
int cuDeviceGetName(char *name, int bytes, int device) {
  return snprintf(name, (size_t)bytes, "Stand-in GPU 100%% %d", device), 0;
}
int cuDeviceGetPCIBusId(char *name, int bytes, int device) {
  return snprintf(name, (size_t)bytes, "0000:0%d:00.0", device + 1), 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  return *value = attribute == 75 ? 9 - device : attribute == 76 ? 0 : -1, 0;
}

#define IMAGE(function, id) \
  int function(void **module, const void *image) { \
    struct { void *module; const void *image; } arguments = {module, image}; \
    return called(id, &arguments); \
  }
IMAGE(cuModuleLoadData, 19)
IMAGE(cuModuleLoadFatBinary, 21)
int cuModuleLoadDataEx(void **module, const void *image, unsigned int count, void *a, void *b) {
  struct { void *module; const void *image; } arguments = {module, image};
  return count || a || b ? 1 : called(20, &arguments);
}

#define NAMED(function, id) \
  int function(void **result, void *container, const char *name) { \
    struct { void *result, *container; const char *name; } arguments = {result, container, name}; \
    *result = (void *)name; \
    return called(id, &arguments); \
  }
NAMED(cuModuleGetFunction, 23)
NAMED(cuModuleGetTexRef, 26)
NAMED(cuModuleGetSurfRef, 190)
NAMED(cuLibraryGetKernel, 681)
NAMED(cuLibraryGetUnifiedFunction, 700)

#define VARIABLE(function, id) \
  int function(uint64_t *address, size_t *bytes, void *container, const char *name) { \
    struct { void *address, *bytes, *container; const char *name; } arguments = { \
        address, bytes, container, name}; \
    return called(id, &arguments); \
  }
VARIABLE(cuModuleGetGlobal_v2, 241)
VARIABLE(cuLibraryGetGlobal, 684)
VARIABLE(cuLibraryGetManaged, 685)

/* Each container holds two kernels, whatever room there is for handles. */
static int list(uint32_t id, void **handles, unsigned int limit, void *container) {
  struct { void **handles; unsigned int limit; void *container; } arguments = {
      handles, limit, container};
  reported(0, id, &arguments);
  if (limit > 0) handles[0] = "first_listed";
  if (limit > 1) handles[1] = "second_listed";
  reported(1, id, &arguments);
  return 0;
}
int cuModuleEnumerateFunctions(void **handles, unsigned int limit, void *container) {
  return list(738, handles, limit, container);
}
int cuLibraryEnumerateKernels(void **handles, unsigned int limit, void *container) {
  return list(740, handles, limit, container);
}
int cuModuleGetFunctionCount(unsigned int *count, void *container) {
  return *count = 2, container == NULL;
}
int cuLibraryGetKernelCount(unsigned int *count, void *container) {
  return *count = 2, container == NULL;
}
int cuFuncGetName(const char **name, void *function) { return *name = function, 0; }
int cuKernelGetName(const char **name, void *kernel) { return *name = kernel, 0; }

/* What cuLibraryLoadData and a first launch come to. */
int stand_in_load(const void *cubin, size_t bytes) {
  struct { uint32_t id; size_t bytes; const void *cubin; } module = {7, bytes, cubin};
  struct { void *context, *stream, *descriptor; } resource = {NULL, NULL, &module};
  event(3, 6, &resource);
  return 0;
}

/* An event of the runtime's domain, whose ids mean other things. */
int stand_in_runtime_call(void) {
  event(2, 23, NULL);
  return 0;
}

int cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status) {
  static const struct {
    const char *name;
    void *function;
    int since;
  } known[] = {
      {"cuModuleGetFunction", cuModuleGetFunction, 2000},
      {"cuModuleLoadData", cuModuleLoadData, 2000},
      {"cuModuleLoadDataEx", cuModuleLoadDataEx, 2010},
      {"cuModuleLoadFatBinary", cuModuleLoadFatBinary, 2000},
      {"cuModuleGetTexRef", cuModuleGetTexRef, 2000},
      {"cuModuleGetSurfRef", cuModuleGetSurfRef, 3000},
      {"cuModuleGetGlobal", cuModuleGetGlobal_v2, 3020},
      {"cuLibraryGetKernel", cuLibraryGetKernel, 12000},
      {"cuLibraryGetUnifiedFunction", cuLibraryGetUnifiedFunction, 12000},
      {"cuLibraryGetGlobal", cuLibraryGetGlobal, 12000},
      {"cuLibraryGetManaged", cuLibraryGetManaged, 12000},
      {"cuGetProcAddress", cuGetProcAddress_v2, 12000},
      {"cuModuleEnumerateFunctions", cuModuleEnumerateFunctions, 12040},
      {"cuLibraryEnumerateKernels", cuLibraryEnumerateKernels, 12040},
  };
  *found = NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(name, known[i].name) && version >= known[i].since) *found = known[i].function;
  if (status) *status = *found ? 0 : 1;
  return (*found && !flags) ? 0 : 500;
}
