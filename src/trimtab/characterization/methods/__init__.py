"""The learning methods: one module per family, each with a function `fit`."""
