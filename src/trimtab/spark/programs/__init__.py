"""Programs on Apache Spark, and the data they work on."""
