"""Images of Apptainer and Singularity: SIF files, read and written without either."""
