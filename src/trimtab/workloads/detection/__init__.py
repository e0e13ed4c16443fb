"""A small detector in the manner of YOLO, which a native task program runs, too."""
