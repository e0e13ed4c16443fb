/* Queries to the CUDA driver that this process has loaded. */
#ifndef TRIMTAB_DRIVER_H
#define TRIMTAB_DRIVER_H

/* The driver's function of that name, or NULL; each library finds it in its own way. */
typedef void *driver_lookup(const char *name);

/* Record the GPUs that the process sees; once per process, when the driver is ready. */
void record_gpus(driver_lookup *driver_function);

/* Record the names of all kernels in `container`, with room for `limit` in `handles`: a CUmodule if
 * `of_library` is 0, otherwise a CUlibrary. */
void record_list(driver_lookup *driver_function, void *const *handles, unsigned int limit,
                 void *container, int of_library);

#endif
