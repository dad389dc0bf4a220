"""Work on a GPU in forked processes: a failed assertion there ends that process only, all its memory is given back, and
several can make ready at the same time. This process itself must never use CUDA: forks of one that did cannot."""

import multiprocessing

LAST_SECONDS = 10  # that a process may take to end after its last answer


class Forked:
    """A process that runs work(pipe, *arguments); `receive` says what became of it where it sends nothing."""

    def __init__(self, work, *arguments):
        context = multiprocessing.get_context("fork")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other, *arguments), daemon=True)
        self.process.start()
        other.close()

    def receive(self):
        """What it sends, or {"failed": why there is nothing}."""
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join(LAST_SECONDS)
            return {"failed": f"its process ended with exit code {self.process.exitcode}"}

    def send(self, what):
        try:
            self.pipe.send(what)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has ended; receive says so

    def end(self):
        self.process.join(LAST_SECONDS)
        if self.process.is_alive():
            self.process.kill()


def _answer(pipe, work, arguments):
    pipe.send(work(*arguments))


def apart(work, *arguments):
    """What work(*arguments) returns, from a process of its own, or {"failed": why there is nothing}."""
    process = Forked(_answer, work, arguments)
    found = process.receive()
    process.end()
    return found
