"""What programs use: nodes, locks, semaphores, grants; for tasks and for threads."""
