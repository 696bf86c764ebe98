"""Virtual time, one seed: runs of bare peers, watched from outside, measured, drawn."""
