"""A hundred operations of PyTorch, one line each: the result's first significant digits, or the exception's type."""

import torch
from torch.nn import functional as F  # noqa: N812  everybody calls it so

torch.manual_seed(0)
d = "cuda"
x = torch.rand(64, 96, device=d) + 0.1
y = torch.rand(64, 96, device=d) + 0.1
s = torch.rand(32, 32, device=d)
p = s @ s.T + 32 * torch.eye(32, device=d)
im = torch.rand(4, 3, 32, 32, device=d)
i = torch.arange(64, device=d) * 7 % 64
v = torch.rand(4, 3, 8, 16, 16, device=d)
q = torch.rand(2, 4, 64, 64, device=d)
seq = torch.rand(20, 4, 32, device=d)
OPERATIONS = {}
for n in [
    "abs",
    "acos",
    "asin",
    "atan",
    "cos",
    "cosh",
    "sin",
    "sinh",
    "tan",
    "tanh",
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sqrt",
    "rsqrt",
    "sigmoid",
    "erf",
    "erfinv",
    "lgamma",
    "digamma",
    "floor",
    "round",
    "trunc",
    "frac",
    "reciprocal",
    "sign",
    "logit",
    "i0",
]:
    OPERATIONS[n] = lambda n=n: getattr(torch, n)(x * 0.5)
for n in [
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "atan2",
    "fmod",
    "maximum",
    "minimum",
    "hypot",
    "logaddexp",
]:
    OPERATIONS[n] = lambda n=n: getattr(torch, n)(x, y)
for n in [
    "sum",
    "mean",
    "prod",
    "std",
    "var",
    "logsumexp",
    "norm",
    "amax",
    "amin",
    "median",
    "cumsum",
    "cumprod",
    "cummax",
    "argsort",
    "argmax",
    "sort",
    "kthvalue",
    "mode",
]:
    OPERATIONS["red_" + n] = lambda n=n: {
        "logsumexp": lambda: x.logsumexp(1),
        "amax": lambda: x.amax(1),
        "amin": lambda: x.amin(1),
        "cumsum": lambda: x.cumsum(1),
        "cumprod": lambda: x.cumprod(1),
        "cummax": lambda: x.cummax(1)[0],
        "argmax": lambda: x.argmax(1).float(),
        "argsort": lambda: x.argsort(1).float(),
        "sort": lambda: x.sort(1)[0],
        "kthvalue": lambda: x.kthvalue(3, 1)[0],
        "mode": lambda: (x * 4).round().mode(1)[0],
    }.get(n, lambda: getattr(torch, n)(x))()
OPERATIONS |= {
    "inv": lambda: torch.linalg.inv(p),
    "svdvals": lambda: torch.linalg.svdvals(s),
    "eigvalsh": lambda: torch.linalg.eigvalsh(p),
    "qr": lambda: torch.linalg.qr(s)[1].abs(),
    "cholesky": lambda: torch.linalg.cholesky(p),
    "solve": lambda: torch.linalg.solve(p, s),
    "lu": lambda: torch.linalg.lu_factor(p)[0],
    "det": lambda: torch.linalg.slogdet(p)[1],
    "lstsq": lambda: torch.linalg.lstsq(p, s)[0],
    "matrix_exp": lambda: torch.linalg.matrix_exp(s * 0.1),
    "eig": lambda: torch.linalg.eigvals(p).real.sort()[0],
    "mm": lambda: x @ y.T,
    "mm_half": lambda: (x.half() @ y.T.half()).float(),
    "mm_bf16": lambda: (x.bfloat16() @ y.T.bfloat16()).float(),
    "mm_double": lambda: x.double() @ y.T.double(),
    "bmm": lambda: torch.bmm(q[0], q[1]),
    "baddbmm": lambda: torch.baddbmm(q[0], q[0], q[1]),
    "int_mm": lambda: torch._int_mm(
        (x[:32, :64] * 9).to(torch.int8), (y[:64, :64] * 9).to(torch.int8)
    ).float(),
    "einsum": lambda: torch.einsum("bhij,bhkj->bik", q, q),
    "addmm_gelu": lambda: F.gelu(F.linear(x, y, x[:, 0])),
    "conv1d": lambda: F.conv1d(seq, seq[:4].reshape(4, 4, 32)[:, :, :3]),
    "conv2d": lambda: F.conv2d(im, im[:, :, :3, :3]),
    "conv2d_half": lambda: F.conv2d(im.half(), im[:, :, :3, :3].half()).float(),
    "conv_transpose": lambda: F.conv_transpose2d(im, im[:3, :, :3, :3]),
    "conv3d": lambda: F.conv3d(v, v[:, :, :3, :3, :3]),
    "depthwise": lambda: F.conv2d(im, im[:3, :1, :5, :5], groups=3),
    "maxpool": lambda: F.max_pool2d(im, 3),
    "avgpool": lambda: F.avg_pool2d(im, 3),
    "adaptive": lambda: F.adaptive_avg_pool2d(im, 5),
    "interp": lambda: F.interpolate(im, scale_factor=1.7, mode="bilinear"),
    "bicubic": lambda: F.interpolate(im, scale_factor=1.3, mode="bicubic"),
    "grid": lambda: F.grid_sample(im, torch.rand(4, 5, 5, 2, device=d)),
    "pad": lambda: F.pad(im, (2, 2, 2, 2), mode="reflect"),
    "unfold": lambda: F.unfold(im, 3),
    "pixel": lambda: F.pixel_shuffle(im.reshape(1, 12, 32, 32), 2),
    "batchnorm": lambda: F.batch_norm(im, None, None, training=True),
    "layernorm": lambda: F.layer_norm(x, (96,)),
    "groupnorm": lambda: F.group_norm(im, 3),
    "instance": lambda: F.instance_norm(im),
    "rms": lambda: F.rms_norm(x, (96,)),
    "softmax": lambda: F.softmax(x, 1),
    "logsoftmax": lambda: F.log_softmax(x, 1),
    "xent": lambda: F.cross_entropy(x, i),
    "nll": lambda: F.nll_loss(x, i),
    "kl": lambda: F.kl_div(x, y),
    "ctc": lambda: F.ctc_loss(
        F.log_softmax(seq, 2),
        i.reshape(4, 16)[:, :5] % 30 + 1,
        torch.full((4,), 20),
        torch.full((4,), 5),
    ),
    "huber": lambda: F.huber_loss(x, y),
    "sdpa_half": lambda: F.scaled_dot_product_attention(q.half(), q.half(), q.half()).float(),
    "sdpa": lambda: F.scaled_dot_product_attention(q, q, q),
    "sdpa_causal_bf16": lambda: F.scaled_dot_product_attention(
        q.bfloat16(), q.bfloat16(), q.bfloat16(), is_causal=True
    ).float(),
    "mha": lambda: torch.nn.MultiheadAttention(32, 4, device=d)(seq, seq, seq)[0],
    "lstm": lambda: torch.nn.LSTM(32, 16, device=d)(seq)[0],
    "gru": lambda: torch.nn.GRU(32, 16, device=d)(seq)[0],
    "embedding": lambda: F.embedding(i, x),
    "bag": lambda: F.embedding_bag(i, x, torch.arange(0, 64, 8, device=d)),
    "onehot": lambda: F.one_hot(i).float(),
    "bucketize": lambda: torch.bucketize(x, torch.arange(0, 1, 0.1, device=d)).float(),
    "histc": lambda: torch.histc(x, 10),
    "bincount": lambda: torch.bincount(i).float(),
    "unique": lambda: torch.unique((x * 9).round()),
    "topk": lambda: x.topk(5)[0],
    "gather": lambda: x.gather(0, i[:, None].expand(64, 96)),
    "scatter": lambda: torch.zeros_like(x).scatter_(0, i[:, None].expand(64, 96), y),
    "index_add": lambda: torch.zeros_like(x).index_add_(0, i, y),
    "masked": lambda: x.masked_select(x > 0.5),
    "nonzero": lambda: (x > 0.5).nonzero().float(),
    "where": lambda: torch.where(x > y, x, y),
    "flip": lambda: x.flip(0),
    "roll": lambda: x.roll(3),
    "tril": lambda: x.tril(),
    "cdist": lambda: torch.cdist(x, y),
    "cov": lambda: torch.cov(x),
    "searchsorted": lambda: torch.searchsorted(x.sort(1)[0], y).float(),
    "trapz": lambda: torch.trapezoid(x),
    "fft": lambda: torch.fft.fft(x).abs(),
    "rfft2": lambda: torch.fft.rfft2(im).abs(),
    "ifft_odd": lambda: torch.fft.ifft(x[:, :91]).abs(),
    "stft": lambda: torch.stft(x.reshape(-1), 64, return_complex=True).abs(),
    "csr": lambda: (x * (x > 0.5)).to_sparse_csr() @ y.T,
    "coo": lambda: torch.sparse.mm((x * (x > 0.5)).to_sparse(), y.T),
    "randn": lambda: torch.randn(9, device=d),
    "randperm": lambda: torch.randperm(99, device=d).float(),
    "multinomial": lambda: torch.multinomial(x, 3).float(),
    "bernoulli": lambda: torch.bernoulli(x.clamp(0, 1)),
    "dropout": lambda: F.dropout(x),
    "poisson": lambda: torch.poisson(x),
    "normal": lambda: torch.normal(x, y),
    "complex": lambda: torch.view_as_real(torch.complex(x, y) * torch.complex(y, x)),
    "int_div": lambda: (i // 3).float(),
    "bitwise": lambda: (i ^ 5).float(),
    "uint8": lambda: (x * 255).to(torch.uint8).float(),
    "fp8": lambda: x.to(torch.float8_e4m3fn).float(),
    "quantize": lambda: torch.quantize_per_tensor(x.cpu(), 0.1, 0, torch.qint8).dequantize(),
}


def backward():
    m = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(7200, 10),
    ).to(d)
    o = torch.optim.Adam(m.parameters(), fused=True)
    loss = m(im).square().mean()
    loss.backward()
    o.step()
    return loss


def graph():
    g = torch.cuda.CUDAGraph()
    a = torch.ones(999, device=d)
    torch.cuda.synchronize()
    with torch.cuda.graph(g):
        b = a.cos() * 3
    a.fill_(2)
    g.replay()
    return b


OPERATIONS |= {
    "backward": backward,
    "graph": graph,
    "wrong shapes": lambda: x @ y,
    "index out of range": lambda: x[70],
    "foreach": lambda: torch._foreach_mul([x, y], 2.0)[1],
    "stream": lambda: torch.cuda.Stream().query() and x,
}


def line(f):
    try:
        r = f().double().reshape(-1)
        return "%d %.3e %.3e" % (r.numel(), r.sum().item(), r.abs().max().item())
    except Exception as e:
        return type(e).__name__ + " " + str(e).splitlines()[0][:60]


for n, f in OPERATIONS.items():
    torch.manual_seed(1)
    print(n, line(f), flush=True)
