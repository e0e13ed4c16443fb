"""Jobs on Apache Spark with dropped tasks, and the times of their tasks."""
