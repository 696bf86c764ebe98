"""Who is in the cluster: engines that keep the members and number the changes."""
