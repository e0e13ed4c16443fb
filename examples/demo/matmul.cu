// The kernel that the demo uses.
__global__ void matrixMulGPU(const int *a, const int *b, int *c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || column >= n) return;
  int sum = 0;
  for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// Multiply two n x n matrices in host memory; returns a cudaError_t.
extern "C" int matmul(const int *a, const int *b, int *c, int n) {
  size_t bytes = sizeof(int) * n * n;
  int *on_gpu[3] = {};
  for (int i = 0; i < 3; i++)
    if (cudaError_t error = cudaMalloc(&on_gpu[i], bytes)) return error;
  cudaMemcpy(on_gpu[0], a, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(on_gpu[1], b, bytes, cudaMemcpyHostToDevice);
  dim3 threads(16, 16), blocks((n + 15) / 16, (n + 15) / 16);
  matrixMulGPU<<<blocks, threads>>>(on_gpu[0], on_gpu[1], on_gpu[2], n);
  if (cudaError_t error = cudaGetLastError()) return error;
  cudaError_t error = cudaMemcpy(c, on_gpu[2], bytes, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 3; i++) cudaFree(on_gpu[i]);
  return error;
}
