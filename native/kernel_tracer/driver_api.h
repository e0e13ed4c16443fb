/* Questions to the CUDA driver that this process has loaded. */
#ifndef TRIMTAB_DRIVER_API_H
#define TRIMTAB_DRIVER_API_H

/* Record the GPUs that the process sees; once a process, when the driver is ready to say. */
void record_gpus(void);

/* Record the names of all kernels in `container`, of which `handles` has room for `limit`: a
 * CUmodule where `of_library` is 0, else a CUlibrary. */
void record_list(void *const *handles, unsigned int limit, void *container, int of_library);

/* The driver's function of that name, or NULL. The interposer has its own way to find it. */
void *driver_function(const char *name);

#endif
