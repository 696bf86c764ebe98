"""The examples of the papers, step by step."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (  # the second has those that the lab tells, too
    ROOT / "tests" / "transcripts",
    ROOT / "src" / "peerlock" / "playground" / "stories",
)
STORIES = sorted(path for folder in FOLDERS for path in folder.glob("*.txt"))
