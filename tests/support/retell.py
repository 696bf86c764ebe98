"""Write the stories anew, with what follows each step: python -m tests.support.retell"""

from peerlock.simulator.transcript import play
from tests.support.stories import STORIES

if __name__ == "__main__":
    for path in STORIES:
        path.write_text(play(path.read_text())[0])
