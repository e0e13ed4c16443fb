"""The resources of trials: the machine they share, and the tuners that divide it."""
