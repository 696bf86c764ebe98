"""The search of large spaces on NumPy arrays: the only part of `checker` that needs NumPy.

`checker.check` imports it when a space turns out to be large and NumPy is installed.
"""
