/* A program that uses the stand-in driver: every argument is something to do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

typedef int named_function(void **, void *, const char *);
typedef int variable_function(uint64_t *, size_t *, void *, const char *);
typedef int image_function(void **, const void *);
typedef int image_function_ex(void **, const void *, unsigned int, void *, void *);
typedef int list_function(void **, unsigned int, void *);
typedef int entry_function(const char *, void **, int, uint64_t, int *);

int cuInit(unsigned int);
int stand_in_load(const void *, size_t);
int stand_in_runtime_call(void);
named_function cuLibraryGetKernel, cuLibraryGetUnifiedFunction;
named_function cuModuleGetFunction, cuModuleGetTexRef, cuModuleGetSurfRef;
variable_function cuModuleGetGlobal_v2, cuLibraryGetGlobal, cuLibraryGetManaged;
image_function cuModuleLoadData, cuModuleLoadFatBinary;
image_function_ex cuModuleLoadDataEx;
list_function cuModuleEnumerateFunctions, cuLibraryEnumerateKernels;

/* How the program gets at the driver's functions: linked, by dlsym, or as the CUDA runtime does. */
static const char *way = "linked";

static void *driver_function(const char *name, void *linked) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *found = NULL;
  if (!strcmp(way, "linked")) return linked;
  if (!strcmp(way, "dlsym")) return dlsym(driver, name);
  entry_function *first = (entry_function *)dlsym(driver, "cuGetProcAddress_v2"), *entry = NULL;
  int status, version = 13000;
  char base[128];
  snprintf(base, sizeof base, "%s", name);
  if (strlen(base) > 3 && !strcmp(base + strlen(base) - 3, "_v2")) base[strlen(base) - 3] = 0;
  if (first("cuGetProcAddress", (void **)&entry, version, 0, &status)) abort();
  if (entry(base, &found, version, 0, &status)) abort();
  return found;
}

static int named(const char *function, void *linked, const char *name) {
  void *result;
  named_function *call = (named_function *)driver_function(function, linked);
  return call(&result, &result, name) || result != name;
}

static int variable(const char *function, void *linked, const char *name) {
  uint64_t address;
  size_t bytes;
  variable_function *call = (variable_function *)driver_function(function, linked);
  return call(&address, &bytes, &bytes, name);
}

static int list(const char *function, void *linked, unsigned int limit) {
  void *handles[8];
  memset(handles, 0xee, sizeof handles); /* what lies beyond the list is no handle */
  list_function *call = (list_function *)driver_function(function, linked);
  return call(handles, limit, handles);
}

/* As libraries do: what they hand to the driver lies in their file, at OFFSET of PATH. */
static int image(const char *function, void *linked, char *place) {
  char *path = strchr(place, ':') + 1;
  long offset = atol(place);
  struct stat status;
  int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &status)) return 1;
  char *memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  void *module, *call = driver_function(function, linked);
  struct { uint32_t magic, version; void *region; } wrapper = {0x466243b1, 1, memory + offset};
  if (!strcmp(function, "cuModuleLoadDataEx"))
    return ((image_function_ex *)call)(&module, memory + offset, 0, NULL, NULL);
  int wrapped = !strcmp(function, "cuModuleLoadFatBinary");
  return ((image_function *)call)(&module, wrapped ? (void *)&wrapper : memory + offset);
}

/* The module ends where memory ends: reading past it is fatal. */
static int load(const char *path) {
  struct stat status;
  int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &status)) return 1;
  size_t bytes = (size_t)status.st_size, room = (bytes + 4095) / 4096 * 4096;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  char *memory = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + room, 4096, PROT_NONE)) return 1;
  char *module = memory + room - bytes;
  if (read(file, module, bytes) != (ssize_t)bytes) return 1;
  close(file);
  return stand_in_load(module, bytes) || munmap(memory, room + 4096);
}

int main(int count, char **arguments) {
  for (int i = 1; i < count; i++) {
    char *action = arguments[i], *value = strchr(action, '=');
    int error = 0, status;
    if (value) *value++ = 0;
#define IS(text) !strcmp(action, text)
#define NAMED(function) named(#function, function, value)
#define LIST(function, room) list(#function, function, room)
#define VARIABLE(function) variable(#function, function, value)
#define IMAGE(function) image(#function, function, value)
    if (IS("init")) error = cuInit(0);
    else if (IS("way")) way = value;
    else if (IS("kernel")) error = NAMED(cuLibraryGetKernel);
    else if (IS("function")) error = NAMED(cuModuleGetFunction);
    else if (IS("unified")) error = NAMED(cuLibraryGetUnifiedFunction);
    else if (IS("texture")) error = NAMED(cuModuleGetTexRef);
    else if (IS("surface")) error = NAMED(cuModuleGetSurfRef);
    else if (IS("global")) error = VARIABLE(cuModuleGetGlobal_v2);
    else if (IS("library_global")) error = VARIABLE(cuLibraryGetGlobal);
    else if (IS("managed")) error = VARIABLE(cuLibraryGetManaged);
    else if (IS("list")) error = LIST(cuModuleEnumerateFunctions, 8);
    else if (IS("list_one")) error = LIST(cuLibraryEnumerateKernels, 1);
    else if (IS("load")) error = load(value);
    else if (IS("data")) error = IMAGE(cuModuleLoadData);
    else if (IS("data_ex")) error = IMAGE(cuModuleLoadDataEx);
    else if (IS("fat_binary")) error = IMAGE(cuModuleLoadFatBinary);
    else if (IS("runtime_call")) error = stand_in_runtime_call();
    else if (IS("close_files")) close_range(3, ~0u, 0);
    else if (IS("kill")) raise(SIGKILL);
    else if (IS("exec")) execv(arguments[0], (arguments[i] = arguments[0], arguments + i));
    else if (IS("fork")) { /* the child does the rest, and the parent after it */
      if (fork() && wait(&status) > 0 && status) return 1;
    } else error = 1;
    if (error) {
      fprintf(stderr, "%s failed\n", action);
      return 1;
    }
  }
  return 0;
}
