"""One search: its trials, from their start until they are judged."""
