/* The used parts of CUPTI and the CUDA driver, to build without the toolkit.
 *
 * Values and layouts are from CUPTI 12.9 and 13.5 (cupti_callbacks.h, cupti_driver_cbid.h,
 * generated_cuda_meta.h) and from cuda.h 13.5; callback ids never change. The test test_kernels.py
 * compares them with the real headers if these are available. */
#ifndef TRIMTAB_CUPTI_ABI_H
#define TRIMTAB_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum cupti_domain { DOMAIN_DRIVER_API = 1, DOMAIN_RESOURCE = 3 };

enum resource_event { RESOURCE_DRIVER_READY = 5, RESOURCE_MODULE_LOADED = 6 };

enum driver_call {
  CALL_MODULE_LOAD_DATA = 19,
  CALL_MODULE_LOAD_DATA_EX = 20,
  CALL_MODULE_LOAD_FAT_BINARY = 21,
  CALL_MODULE_GET_FUNCTION = 23,
  CALL_MODULE_GET_GLOBAL = 24,
  CALL_MODULE_GET_TEXTURE = 26,
  CALL_MODULE_GET_SURFACE = 190,
  CALL_MODULE_GET_GLOBAL_V2 = 241,
  CALL_LIBRARY_GET_KERNEL = 681,
  CALL_LIBRARY_GET_GLOBAL = 684,
  CALL_LIBRARY_GET_MANAGED = 685,
  CALL_LIBRARY_GET_UNIFIED_FUNCTION = 700,
  CALL_MODULE_ENUMERATE_FUNCTIONS = 738,
  CALL_LIBRARY_ENUMERATE_KERNELS = 740,
};

enum call_site { SITE_ENTER = 0, SITE_EXIT = 1 };

/* The used part of CUpti_CallbackData. */
struct call_data {
  int site;
  const char *function_name;
  const void *arguments;
  const int *result; /* CUresult, valid at SITE_EXIT */
};

/* CUpti_ResourceData and CUpti_ModuleResourceData. */
struct resource_data {
  void *context;
  void *stream;
  const void *descriptor;
};

struct module_data {
  uint32_t module_id;
  size_t cubin_bytes;
  const uint8_t *cubin;
};

/* Arguments of the calls: a module from memory; kernel, texture or surface by name; variable by
 * name; a list of all. */
struct image_arguments {
  void *result;
  const void *image;
};

struct named_arguments {
  void *result;
  void *container;
  const char *name;
};

struct variable_arguments {
  void *address;
  void *bytes;
  void *container;
  const char *name;
};

struct list_arguments {
  void **handles;
  unsigned int limit;
  void *container;
};

enum cupti_error { MULTIPLE_SUBSCRIBERS = 39 };

typedef void callback_function(void *userdata, int domain, uint32_t id, const void *data);
typedef int subscribe_function(void **subscriber, callback_function *callback, void *userdata);
typedef int enable_function(uint32_t enable, void *subscriber, int domain, uint32_t id);

#endif
