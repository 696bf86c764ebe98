"""A whole lock node, still pure: many locks by name, waiters, fences, views, links."""
