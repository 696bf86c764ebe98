"""The documentation site: pages written from the code, the catalogue and measurements.

`python -m handbook` (or `make docs`) writes Markdown and pictures to out/docs, and builds
the site from them in out/site.  Nothing in it is loaded from the network.
"""
