"""`peerlock`, also as `python -m peerlock`.

While the commands are loaded, and after they are done, Ctrl-C ends the process by the
signal itself.  In between it raises KeyboardInterrupt, which the commands handle.
"""

# Not the module signal: during its import, Ctrl-C would print a traceback.
from _signal import (  # type: ignore[import-not-found]
    SIG_DFL,
    SIGINT,
    default_int_handler,
    getsignal,
    signal,
)


def main() -> None:
    heeded = getsignal(SIGINT) is default_int_handler  # it may be ignored, as by nohup(1)
    if heeded:
        signal(SIGINT, SIG_DFL)
    from peerlock.cli.start import answered_at_once, command

    if answered_at_once():
        return
    run = command()
    from peerlock.cli.ending import end_by, leave_at_once

    try:
        try:
            if heeded:
                signal(SIGINT, default_int_handler)
            run()
        finally:
            if getsignal(SIGINT) is default_int_handler:  # not chosen by the command
                signal(SIGINT, SIG_DFL)
    except SystemExit as end:
        leave_at_once(end.code)
    except KeyboardInterrupt:  # it came just before or after `run`
        end_by(SIGINT)


if __name__ == "__main__":
    main()
