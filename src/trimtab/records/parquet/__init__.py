"""Parquet files, whatever wrote them."""
