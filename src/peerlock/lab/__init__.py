"""Many runs: in parallel processes, summarised, plotted."""
