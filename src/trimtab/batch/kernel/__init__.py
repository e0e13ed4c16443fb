"""The compiled simulator of batch queues."""
