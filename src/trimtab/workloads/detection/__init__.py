"""A small detector similar to YOLO, which a native task program runs, too."""
