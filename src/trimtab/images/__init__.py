"""Container images as archives and folders: read, merged, extracted and written, by no engine."""
