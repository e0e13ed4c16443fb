"""Sparse tensors in three layouts, multiplied, reduced, and trained on."""

import sys

import torch

size = int(sys.argv[1])
torch.manual_seed(0)
dense = torch.rand(size, size) * (torch.rand(size, size) < 0.1)
coo, csr = dense.to_sparse(), dense.to_sparse_csr()
b = torch.randn(size, 5)
print("product", torch.allclose(torch.sparse.mm(coo, b), dense @ b, atol=1e-4))
print("csr", torch.allclose(csr @ b, dense @ b, atol=1e-4), csr.values().numel())
print(
    "sum",
    f"{torch.sparse.sum(coo, 0).to_dense().sum():.3f}",
    f"{torch.sparse.softmax(coo, 1).to_dense().sum():.3f}",
)
print("transposed", torch.equal(coo.t().coalesce().to_dense(), dense.t()))
print("added", torch.allclose((coo + coo).to_dense(), 2 * dense))
print("sampled", f"{torch.sparse.sampled_addmm(csr, b, b.t(), beta=0.5).values().sum():.3f}")
table = torch.nn.Embedding(size, 4, sparse=True)
optimizer = torch.optim.SparseAdam(table.parameters(), 0.1)
for _ in range(3):
    loss = table(torch.tensor([1, 3, 3, 7])).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("embedding", f"{loss.item():.4f}")
print(
    "values",
    coo.indices().shape,
    torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0]).to_dense().tolist(),
)
