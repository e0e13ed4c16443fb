"""Storage formats of images: OCI image layouts and docker archives, as folders or tar files."""
