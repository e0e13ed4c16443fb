"""Programs of the container images of conf/workload/*_image.yaml, and nothing else."""
