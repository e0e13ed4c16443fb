"""Objects of Kubernetes, Kueue and Volcano."""
