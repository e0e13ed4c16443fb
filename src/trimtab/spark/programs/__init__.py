"""Programs on Apache Spark, and their data."""
