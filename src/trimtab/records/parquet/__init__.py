"""Parquet files from any writer."""
