"""From evidence to what is reported: figures, pictures, verdicts."""
