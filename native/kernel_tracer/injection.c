/* Records the GPU code that a process uses. The CUDA driver loads this library at cuInit if
 * CUDA_INJECTION64_PATH names it, and calls InitializeInjection.
 *
 * Launches are not watched: a kernel, even in a graph or launched cooperatively, is launched by a
 * handle, and a handle comes from one of the lookups and lists below. So a kernel costs once, and a
 * launch nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "../records/driver.h"
#include "../records/kernels.h"
#include "../records/regions.h"
#include "cupti_abi.h"
#include "module.h"

static void *driver_function(const char *name) {
  static void *driver;
  if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? dlsym(driver, name) : NULL;
}

static void watch_call(uint32_t call, const struct call_data *data) {
  const struct image_arguments *loaded = data->arguments;
  const struct named_arguments *named = data->arguments;
  const struct variable_arguments *variable = data->arguments;
  const struct list_arguments *list = data->arguments;
  record_gpus(driver_function);
  switch (call) {
    case CALL_MODULE_LOAD_DATA:
    case CALL_MODULE_LOAD_DATA_EX:
    case CALL_MODULE_LOAD_FAT_BINARY:
      if (data->site == SITE_EXIT && *data->result == 0) record_region(loaded->image);
      break;
    case CALL_MODULE_GET_FUNCTION:
    case CALL_LIBRARY_GET_KERNEL:
    case CALL_LIBRARY_GET_UNIFIED_FUNCTION:
      if (data->site == SITE_ENTER && named->name) record("kernel", named->name);
      break;
    case CALL_MODULE_GET_TEXTURE:
    case CALL_MODULE_GET_SURFACE:
      if (data->site == SITE_ENTER && named->name) record("global", named->name);
      break;
    case CALL_MODULE_GET_GLOBAL:
    case CALL_MODULE_GET_GLOBAL_V2:
    case CALL_LIBRARY_GET_GLOBAL:
    case CALL_LIBRARY_GET_MANAGED:
      if (data->site == SITE_ENTER && variable->name) record("global", variable->name);
      break;
    case CALL_MODULE_ENUMERATE_FUNCTIONS:
    case CALL_LIBRARY_ENUMERATE_KERNELS:
      if (data->site == SITE_EXIT && *data->result == 0)
        record_list(driver_function, list->handles, list->limit, list->container,
                    call == CALL_LIBRARY_ENUMERATE_KERNELS);
      break;
  }
}

/* Ids of different domains overlap. */
static void watch(void *userdata, int domain, uint32_t id, const void *data) {
  (void)userdata;
  if (domain == DOMAIN_DRIVER_API) {
    watch_call(id, data);
  } else if (domain == DOMAIN_RESOURCE && id == RESOURCE_DRIVER_READY) {
    record_gpus(driver_function);
  } else if (domain == DOMAIN_RESOURCE && id == RESOURCE_MODULE_LOADED) {
    const struct module_data *module = ((const struct resource_data *)data)->descriptor;
    record_module(module->cubin, module->cubin_bytes);
  }
}

static const struct {
  int domain;
  uint32_t id;
} watched[] = {
    {DOMAIN_RESOURCE, RESOURCE_DRIVER_READY},
    {DOMAIN_RESOURCE, RESOURCE_MODULE_LOADED},
    {DOMAIN_DRIVER_API, CALL_MODULE_LOAD_DATA},
    {DOMAIN_DRIVER_API, CALL_MODULE_LOAD_DATA_EX},
    {DOMAIN_DRIVER_API, CALL_MODULE_LOAD_FAT_BINARY},
    {DOMAIN_DRIVER_API, CALL_MODULE_GET_FUNCTION},
    {DOMAIN_DRIVER_API, CALL_MODULE_GET_GLOBAL},
    {DOMAIN_DRIVER_API, CALL_MODULE_GET_TEXTURE},
    {DOMAIN_DRIVER_API, CALL_MODULE_GET_SURFACE},
    {DOMAIN_DRIVER_API, CALL_MODULE_GET_GLOBAL_V2},
    {DOMAIN_DRIVER_API, CALL_LIBRARY_GET_KERNEL},
    {DOMAIN_DRIVER_API, CALL_LIBRARY_GET_GLOBAL},
    {DOMAIN_DRIVER_API, CALL_LIBRARY_GET_MANAGED},
    {DOMAIN_DRIVER_API, CALL_LIBRARY_GET_UNIFIED_FUNCTION},
    {DOMAIN_DRIVER_API, CALL_MODULE_ENUMERATE_FUNCTIONS},
    {DOMAIN_DRIVER_API, CALL_LIBRARY_ENUMERATE_KERNELS},
};

static const char *error_text(void *cupti, int error) {
  int (*text_of)(int, const char **) =
      (int (*)(int, const char **))dlsym(cupti, "cuptiGetResultString");
  const char *text;
  return text_of && text_of(error, &text) == 0 ? text : "unknown error";
}

static void fail(const char *what, const char *why) {
  char reason[1024];
  snprintf(reason, sizeof reason, "%s: %s", what, why);
  record("failed", reason);
}

__attribute__((visibility("default"))) int InitializeInjection(void) {
  const char *path = getenv("TRIMTAB_CUPTI");
  if (!path) path = "libcupti.so";
  void *cupti = dlopen(path, RTLD_NOW);
  if (!cupti) {
    fail("CUPTI cannot be loaded", dlerror());
    return 1;
  }
  subscribe_function *subscribe = (subscribe_function *)dlsym(cupti, "cuptiSubscribe");
  enable_function *enable = (enable_function *)dlsym(cupti, "cuptiEnableCallback");
  void *subscriber;
  if (!subscribe || !enable) {
    fail("not a CUPTI library", path);
    return 1;
  }
  int error = subscribe(&subscriber, watch, NULL);
  if (error) {
    fail(error == MULTIPLE_SUBSCRIBERS ? "another profiler of this process uses CUPTI already"
                                       : "CUPTI does not work here",
         error_text(cupti, error));
    return 1;
  }
  for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
    error = enable(1, subscriber, watched[i].domain, watched[i].id);
    if (error) {
      fail("CUPTI does not know a call that is to be watched; 12.4 and later do", path);
      return 1;
    }
  }
  record("cupti", path);
  return 1;
}
