"""The wait for an image: pull, unpack, and start to the first output."""
