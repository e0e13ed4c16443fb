/* Questions to the CUDA driver that this process has loaded. */
#ifndef TRIMTAB_DRIVER_H
#define TRIMTAB_DRIVER_H

/* The driver's function of that name, or NULL; each library has its own way to find it. */
typedef void *driver_lookup(const char *name);

/* Record the GPUs that the process sees; once a process, when the driver is ready to say. */
void record_gpus(driver_lookup *driver_function);

/* Record the names of all kernels in `container`, of which `handles` has room for `limit`: a
 * CUmodule where `of_library` is 0, else a CUlibrary. */
void record_list(driver_lookup *driver_function, void *const *handles, unsigned int limit,
                 void *container, int of_library);

#endif
