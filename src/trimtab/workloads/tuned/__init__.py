"""The programs of tables 6.2 and 7.1 of the thesis, on which its tuners were evaluated."""
