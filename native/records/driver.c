#define _GNU_SOURCE
#include "driver.h"

#include <stdio.h>
#include <unistd.h>

#include "kernels.h"

enum { MAJOR = 75, MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_* of cuda.h */

void record_gpus(driver_lookup *driver_function) {
  static pid_t done;
  if (done == getpid()) return;
  int (*count_of)(int *) = (int (*)(int *))driver_function("cuDeviceGetCount");
  int (*device_of)(int *, int) = (int (*)(int *, int))driver_function("cuDeviceGet");
  int (*name_of)(char *, int, int) = (int (*)(char *, int, int))driver_function("cuDeviceGetName");
  int (*bus_of)(char *, int, int) =
      (int (*)(char *, int, int))driver_function("cuDeviceGetPCIBusId");
  int (*attribute_of)(int *, int, int) =
      (int (*)(int *, int, int))driver_function("cuDeviceGetAttribute");
  int count, device, major, minor;
  if (!count_of || !device_of || !name_of || !bus_of || !attribute_of || count_of(&count)) return;
  done = getpid();
  for (int i = 0; i < count; i++) {
    char name[256] = "", bus[64] = "", architecture[32];
    if (device_of(&device, i) || name_of(name, sizeof name, device) ||
        bus_of(bus, sizeof bus, device) || attribute_of(&major, MAJOR, device) ||
        attribute_of(&minor, MINOR, device))
      continue;
    snprintf(architecture, sizeof architecture, "%d", 10 * major + minor);
    struct event event;
    begin_event(&event, "gpu");
    add_word(&event, bus);
    add_word(&event, architecture);
    add_word(&event, name);
    end_event(&event);
  }
}

void record_list(driver_lookup *driver_function, void *const *handles, unsigned int limit,
                 void *container, int of_library) {
  int (*count_of)(unsigned int *, void *) = (int (*)(unsigned int *, void *))driver_function(
      of_library ? "cuLibraryGetKernelCount" : "cuModuleGetFunctionCount");
  int (*name_of)(const char **, void *) = (int (*)(const char **, void *))driver_function(
      of_library ? "cuKernelGetName" : "cuFuncGetName");
  unsigned int count;
  if (!count_of || !name_of || count_of(&count, container)) {
    record("failed", "the kernels that the program listed could not be named");
    return;
  }
  for (unsigned int i = 0; i < count && i < limit; i++) {
    const char *name;
    if (name_of(&name, handles[i]) == 0) record("listed", name);
  }
}
