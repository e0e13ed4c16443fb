// The kernel that the demo does not use.
__global__ void setScalarItems(int *items, int value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) items[i] = value;
}

// Set n items in host memory to a value; returns a cudaError_t.
extern "C" int scalar(int *items, int value, int n) {
  int *on_gpu = nullptr;
  if (cudaError_t error = cudaMalloc(&on_gpu, sizeof(int) * n)) return error;
  setScalarItems<<<(n + 255) / 256, 256>>>(on_gpu, value, n);
  if (cudaError_t error = cudaGetLastError()) return error;
  cudaError_t error = cudaMemcpy(items, on_gpu, sizeof(int) * n, cudaMemcpyDeviceToHost);
  cudaFree(on_gpu);
  return error;
}
