"""PyTorch's own examples of torch.export, those whose names begin as said: exported and run."""

import sys

import torch
from torch._export.db.examples import all_examples

torch.manual_seed(0)
for name, case in sorted(all_examples().items()):
    if not name.startswith(tuple(sys.argv[1:])):
        continue
    try:
        program = torch.export.export(
            case.model, case.example_args, case.example_kwargs, dynamic_shapes=case.dynamic_shapes
        )
    except Exception as error:  # some are examples of what cannot be exported
        print(name, type(error).__name__)
        continue
    result = program.module()(*case.example_args, **case.example_kwargs)
    print(name, len(program.graph.nodes), type(result).__name__)
