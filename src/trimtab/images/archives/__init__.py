"""Where images lie: OCI image layouts and docker archives, as folders or tar files."""
