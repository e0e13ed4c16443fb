"""Response times of priority queues by formula, without simulation."""
