"""Every table, figure and bound of the papers: what they say beside what is measured."""
