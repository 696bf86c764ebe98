"""What a process that stays in a cluster shows to monitoring."""
