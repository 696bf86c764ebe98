"""Many runs: in parallel processes, summed up, plotted."""
