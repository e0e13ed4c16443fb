#!/bin/sh
# Run a command without the numbers of threads that Snakemake tells every program to start: programs
# that are profiled or verified run without them in production. Without its TMPDIR, too, where the user
# has set none.
[ "$TMPDIR" = /tmp ] && set -- -u TMPDIR "$@"
exec env -u OMP_NUM_THREADS -u GOTO_NUM_THREADS -u OPENBLAS_NUM_THREADS -u MKL_NUM_THREADS \
  -u VECLIB_MAXIMUM_THREADS -u NUMEXPR_NUM_THREADS "$@"
