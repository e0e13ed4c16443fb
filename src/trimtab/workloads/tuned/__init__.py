"""The programs of tables 6.2 and 7.1 of the thesis: what its tuners were tried on."""
