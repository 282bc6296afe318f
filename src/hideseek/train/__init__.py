"""The training engine: the loop, optimisers and schedules, checkpoints, workers, and models on disk."""
