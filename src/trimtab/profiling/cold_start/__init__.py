"""What somebody waits for who needs an image: pull, unpack, start to the first output."""
