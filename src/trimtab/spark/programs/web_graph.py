"""A graph like the web's, where none is at hand."""

from pathlib import Path

import numpy as np

from trimtab.files import whole_file


def write_web_graph(
    path: Path, nodes: int, links: int = 5, copied: float = 0.6, seed: int = 0
) -> None:
    """Write a synthetic web-like graph as an edge list in the format of SNAP's `web-Google.txt`.

    The copying model of Kumar et al. (Stochastic models for the web graph, 2000): every new page
    links to an older one, its model, and to `links` - 1 pages more, each with probability
    `copied` one that its model links to, else any older one. In-degrees follow a power law, and
    a copied link closes a triangle with the model. The same `seed` gives the same file.
    """
    random = np.random.default_rng(seed)
    targets: list[list[int]] = [[]]
    for node in range(1, nodes):
        model = int(random.integers(node))
        linked = {model}
        for copies in random.random(links - 1) < copied:
            of_model = targets[model]
            if copies and of_model:
                linked.add(of_model[int(random.integers(len(of_model)))])
            else:
                linked.add(int(random.integers(node)))
        targets.append(sorted(linked))
    with whole_file(path) as temporary, temporary.open("w") as file:
        file.write("# Directed graph: synthetic, the copying model\n# FromNodeId\tToNodeId\n")
        for node, linked_to in enumerate(targets):
            file.writelines(f"{node}\t{target}\n" for target in linked_to)
