"""The outcome: whole environments, before and after."""
