"""Images of Apptainer and Singularity: read and write SIF files without either."""
