"""The examples of the papers, step by step."""

from pathlib import Path

STORIES = sorted((Path(__file__).parents[1] / "transcripts").glob("*.txt"))
