"""Tasks for tests that need an archived one."""


def archived(space, name, text, **about):
    """The episode of a task that is begun and completed with a summary."""
    space.tasks.start(name, id=name, **about)
    return space.archive.get(space.tasks.complete(name, summary=text).episode)
