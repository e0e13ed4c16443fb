"""The shortest path and the ranks of a small graph that the package carries."""

import networkx as nx

graph = nx.karate_club_graph()
print(nx.shortest_path(graph, 0, 33))
ranks = nx.pagerank(graph)
print(sorted(ranks, key=ranks.get)[-3:])
