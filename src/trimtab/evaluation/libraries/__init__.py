"""Libraries and environments before and after."""
