"""Every table, figure and bound of the papers: what they say beside what is measured.

One rule for all of them.  `paper` is what the paper prints, with the numbers put in; where
it prints words (about 4, close to N, 1 … ∞), these words.  What a measurement is held
against is that, and where it is not, both are reported: `Said`.  A tolerance is for chance
and for the beginning of a run, no more.  What differs for a reason differs: the item
disagrees, and its `Because` says why and predicts what is measured instead.  So it is with
the commonest reason, that a paper counts messages of a node to itself, which are none here.
"""
