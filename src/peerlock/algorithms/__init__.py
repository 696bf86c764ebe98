"""Mutual exclusion algorithms, one file per paper, and the catalogue of them."""
