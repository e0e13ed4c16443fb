"""Tuning: hyperparameters, the system set-up of training, and the set-up of inference."""
