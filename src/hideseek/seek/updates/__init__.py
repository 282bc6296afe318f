"""Attacks on updates of a model, as federated learning shares them."""
