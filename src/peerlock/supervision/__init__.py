"""Commands that run under a lock: started, watched, and stopped when it is lost."""
