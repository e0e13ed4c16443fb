/* What a profiler asks of CUPTI: a record of every kernel, copy, and call of the runtime and the
 * driver. The records are counted and thrown away, so that this is the least that one costs.
 * Loaded by the CUDA driver (CUDA_INJECTION64_PATH). */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long records;

static void CUPTIAPI new_buffer(uint8_t **buffer, size_t *size, size_t *most_records) {
  *size = 8u << 20;
  *most_records = 0;
  if (posix_memalign((void **)buffer, 8, *size)) abort();
}

static void CUPTIAPI full_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t used) {
  (void)context, (void)stream, (void)size;
  CUpti_Activity *record = NULL;
  while (cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS)
    __atomic_add_fetch(&records, 1, __ATOMIC_RELAXED);
  free(buffer);
}

static void at_exit(void) {
  cuptiActivityFlushAll(1);
  fprintf(stderr, "%lu activity records\n", records);
}

int InitializeInjection(void) {
  static const CUpti_ActivityKind kinds[] = {
      CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
      CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};
  cuptiActivityRegisterCallbacks(new_buffer, full_buffer);
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) cuptiActivityEnable(kinds[i]);
  atexit(at_exit);
  return 1;
}
