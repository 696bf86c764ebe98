"""Coverage-guided fuzzing of what comes over the wire: `make fuzz`.

A harness is a function of bytes that returns, or raises if peerlock is wrong.  It needs
nothing but peerlock, so that every input that was ever worth keeping is tried again by
tests/house/test_fuzz.py; only the search for new ones needs a fuzzer (`python -m fuzz`).
"""
