"""The methods that learn: a module a family, each with a function `fit`."""
