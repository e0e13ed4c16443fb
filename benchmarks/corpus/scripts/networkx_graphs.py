"""Paths, ranks, communities and flows of graphs."""

import sys

import networkx as nx

nodes = int(sys.argv[1])
graph = nx.barabasi_albert_graph(nodes, 3, seed=1)
for a, b in graph.edges:
    graph[a][b]["weight"] = 1 + (a * b) % 7
print("path", nx.dijkstra_path(graph, 0, nodes - 1))
ranks = nx.pagerank(graph)
print("ranks", sorted(ranks, key=ranks.__getitem__)[-5:])
print("communities", sorted(map(len, nx.community.greedy_modularity_communities(graph))))
print("tree", nx.minimum_spanning_tree(graph).size(weight="weight"))
print("flow", nx.maximum_flow_value(graph, 0, nodes - 1, capacity="weight"))
print("connectivity", f"{nx.algebraic_connectivity(graph, seed=1):.4f}")
print("colours", len(set(nx.greedy_color(graph).values())), nx.diameter(graph))
layout = nx.spring_layout(graph.subgraph(range(20)), seed=3, iterations=20)
print("layout", layout[0].round(2).tolist())
print("spectrum", nx.adjacency_spectrum(graph.subgraph(range(30))).real.max().round(4))
print("kernel", nx.to_scipy_sparse_array(graph).sum())
