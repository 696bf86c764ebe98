"""Write the stories anew, with what really follows each step: python -m tests.retell"""

from peerlock.simulator.transcript import play
from tests.test_transcripts import STORIES

if __name__ == "__main__":
    for path in STORIES:
        path.write_text(play(path.read_text())[0])
